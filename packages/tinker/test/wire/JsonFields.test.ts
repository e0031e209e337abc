import { LossGraph } from "@effect-rl/core/losses"
import * as Administration from "@effect-rl/tinker/wire/Administration"
import * as CustomLoss from "@effect-rl/tinker/wire/CustomLoss"
import * as Future from "@effect-rl/tinker/wire/Future"
import * as Input from "@effect-rl/tinker/wire/Input"
import * as Matrix from "@effect-rl/tinker/wire/Matrix"
import * as PassRequestJson from "@effect-rl/tinker/wire/PassRequestJson"
import * as Sample from "@effect-rl/tinker/wire/Sample"
import * as SavedWeights from "@effect-rl/tinker/wire/SavedWeights"
import * as Service from "@effect-rl/tinker/wire/Service"
import * as Training from "@effect-rl/tinker/wire/Training"
import { assert, describe, it } from "@effect/vitest"
import { Schema, SchemaAST } from "effect"
import { readFileSync } from "node:fs"

const types = new Map(
  readFileSync(new URL("../fixtures/tinker-0.38-json.txt", import.meta.url), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [name = "", ...fields] = line.split(" ")
      return [name, fields] as const
    })
)

/** All keys of a schema and of the schemas within it. */
const keysIn = (ast: SchemaAST.AST): ReadonlyArray<string> => {
  if (SchemaAST.isUnion(ast)) return ast.types.flatMap(keysIn)
  if (SchemaAST.isArrays(ast)) return [...ast.elements, ...ast.rest].flatMap(keysIn)
  if (!SchemaAST.isObjects(ast)) return []
  const inside = [...ast.propertySignatures, ...ast.indexSignatures].flatMap(({ type }) => keysIn(type))
  return [...ast.propertySignatures.map(({ name }) => String(name)), ...inside]
}

/** This project's bodies, with the SDK types whose fields each covers. */
const bodies: ReadonlyArray<readonly [Schema.Top, ReadonlyArray<string>]> = [
  [Service.CreateSessionRequest, ["CreateSessionRequest"]],
  [Service.CreateSessionResponse, ["CreateSessionResponse"]],
  [Service.HeartbeatRequest, ["SessionHeartbeatRequest", "SessionHeartbeatResponse"]],
  [Service.ClientConfigResponse, ["ClientConfigResponse"]],
  [Service.DynamicConfigResponse, ["ClientDynamicConfigResponse"]],
  [Service.AuthTokenResponse, ["AuthTokenResponse"]],
  [Service.ServerCapabilities, ["GetServerCapabilitiesResponse", "SupportedModel"]],
  [Service.FinishRequest, [
    "ClientSessionFinishErrored",
    "ClientSessionFinishInterrupted",
    "ClientSessionFinishSuccess"
  ]],
  [Service.SearchRequest, [
    "SessionSearchRequest",
    "SessionSearchCursor",
    "OwnSearchOwner",
    "AccessibleSearchOwner",
    "UserSearchOwner",
    "ActiveSessionStatusQuery",
    "CancelledSessionStatusQuery",
    "FailedSessionStatusQuery",
    "ClientFinishedSessionStatusQuery"
  ]],
  [Administration.SessionSearch, [
    "SessionSearchResponse",
    "SessionSummary",
    "SessionActive",
    "SessionCancelled",
    "SessionFailed",
    "SessionFailedRequestReason",
    "SessionFailedTrainingRunReason",
    "SessionFailedSamplingSessionReason",
    "ClientSessionFinished"
  ]],
  [Administration.Sessions, ["ListSessionsResponse"]],
  [Administration.Session, ["GetSessionResponse"]],
  [Administration.TrainingRuns, ["TrainingRunsResponse", "TrainingRun", "Cursor"]],
  [Administration.Checkpoints, ["CheckpointsListResponse", "Checkpoint"]],
  [Administration.Sampler, ["GetSamplerResponse"]],
  [Administration.ExternalWeights, ["ExternalWeightsUrlsResponse"]],
  [Administration.AuditLog, ["AuditLogResponse", "AuditLogEntry"]],
  [Administration.BillingUsage, [
    "BillingUsageResponse",
    "BillingUsageEvent",
    "BillingUsageSession",
    "TrainingBillingEvent",
    "SamplingPrefillBillingEvent",
    "SamplingSampleBillingEvent",
    "CheckpointBillingEvent",
    "StorageBillingEvent"
  ]],
  [Administration.CheckpointStorage, ["CurrentCheckpointStorageUsageResponse", "CurrentCheckpointStorageUsageItem"]],
  [Training.CreateModelRequest, ["CreateModelRequest", "LoraConfig", "AdamOptimizerConfig", "OptimizerConfigBase"]],
  [Training.CreateModelResult, ["CreateModelResponse"]],
  [Training.ModelRequest, ["GetInfoRequest", "UnloadModelRequest"]],
  [Training.ModelInfo, ["GetInfoResponse", "ModelData"]],
  [Training.UnloadModelResult, ["UnloadModelResponse"]],
  [Training.OptimStepRequest, ["OptimStepRequest", "AdamParams", "OptimParamsBase"]],
  [Training.OptimStepResult, ["OptimStepResponse"]],
  [SavedWeights.SaveWeightsRequest, ["SaveWeightsRequest"]],
  [SavedWeights.SaveWeightsForSamplerRequest, ["SaveWeightsForSamplerRequest"]],
  [SavedWeights.SaveWeightsExternalRequest, ["SaveWeightsExternalRequest"]],
  [SavedWeights.SaveWeightsResult, [
    "SaveWeightsResponse",
    "SaveWeightsExternalResponse",
    "SaveWeightsExternalResponseInternal"
  ]],
  [SavedWeights.SaveWeightsForSamplerResult, [
    "SaveWeightsForSamplerResponse",
    "SaveWeightsForSamplerResponseInternal"
  ]],
  [Schema.Union([SavedWeights.LoadWeightsRequest, SavedWeights.CreateByLoadingRequest]), ["LoadWeightsRequest"]],
  [SavedWeights.LoadWeightsResult, ["LoadWeightsResponse"]],
  [SavedWeights.CopyWeightsRequest, ["CopyWeightsRequest"]],
  [SavedWeights.CopyWeightsResponse, ["CopyWeightsResponse"]],
  [SavedWeights.WeightsInfo, ["WeightsInfoResponse"]],
  [CustomLoss.CreateCustomLossRequest, ["CreateCustomLossRequest"]],
  [CustomLoss.CreateCustomLossResult, ["CreateCustomLossResponse"]],
  [LossGraph.LossGraph, ["CustomLossGraph", "CustomLossNode", "CustomLossInput"]],
  [Sample.CreateSamplingSessionRequest, ["CreateSamplingSessionRequest"]],
  [Sample.CreateSamplingSessionResponse, ["CreateSamplingSessionResponse"]],
  [Sample.JoinSamplingSessionRequest, ["JoinSamplingSessionRequest"]],
  [Sample.JoinSamplingSessionResponse, ["JoinSamplingSessionResponse"]],
  [Sample.SampleRequest, ["SampleRequest", "SamplingParams"]],
  [Input.Input, ["ModelInput", "EncodedTextChunk", "ImageChunk", "ImageAssetPointerChunk", "DmelChunk"]],
  [Matrix.TensorData, ["TensorData"]],
  [PassRequestJson.PassInput, ["ForwardBackwardInput", "Datum"]],
  [Future.Promised, ["UntypedAPIFuture"]],
  [Future.RetrieveRequest, ["FutureRetrieveRequest"]],
  [Future.RetrieveManyRequest, ["FuturesRetrieveRequest", "SamplingSessionFuturesTarget"]],
  [Future.RetrieveManyResponse, ["FuturesRetrieveResponse", "FutureFinished", "FutureFailed"]],
  [Future.TryAgain, ["TryAgainResponse"]],
  [Future.Failed, ["RequestFailedResponse"]]
]

/** Types that are not bodies by themselves. */
const elsewhere: Readonly<Record<string, string>> = {
  ClientConfigRequest: "sent by ClientConfig and read by no server: its one field is the version of the SDK",
  DimuonOptimizerConfig: "the server knows it by its type, and refuses it by that name",
  DimuonParams: "the server knows them by their type, and refuses them by that name",
  GetBillingUsageRequest: "parameters of an address: RestClient.getBillingUsage",
  GetCurrentCheckpointStorageUsageRequest: "parameters of an address: RestClient.getCheckpointStorage",
  HealthResponse: "its status is that of HTTP as well",
  ParsedCheckpointTinkerPath: "no body: CheckpointPath.parse",
  WhoamiResponse: "no body: the claims of a token"
}

/** Fields without meaning outside the SDK, or with another name on the wire. */
const exceptions: Readonly<Record<string, string>> = {
  "ClientConfigResponse.use_pyqwest_transport": "chooses among Python's HTTP clients",
  "OptimStepRequest.optim_params": "adam_params or optimizer_params on the wire"
}

const unread = bodies.flatMap(([schema, names]) => {
  const known = new Set(keysIn(Schema.toEncoded(schema).ast))
  return names.flatMap((name) =>
    (types.get(name) ?? ["a type that the SDK does not have"])
      .map((field) => ({ field, path: `${name}.${field}` }))
      .filter(({ field, path }) => !known.has(field) && !(path in exceptions))
      .map(({ path }) => path)
  )
})

describe("JSON bodies of the official SDK", () => {
  it("have no field that this project does not know", () => {
    assert.deepStrictEqual(unread, [])
  })

  it("are all covered by our bodies or listed as exceptions", () => {
    const known = [...bodies.flatMap(([, names]) => names), ...Object.keys(elsewhere)]
    assert.deepStrictEqual([...types.keys()].filter((name) => !known.includes(name)), [])
    assert.deepStrictEqual(known.filter((name, index) => known.indexOf(name) !== index), [])
    for (const path of Object.keys(exceptions)) {
      const [name = "", field = ""] = path.split(".")
      assert.include(types.get(name) ?? [], field)
    }
  })
})
