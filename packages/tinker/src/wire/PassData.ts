/** Converts a received pass to backend data. Every field that is not read is refused by name. */
import * as TinkerError from "@effect-rl/core/backend/TinkerError"
import type * as TrainingClient from "@effect-rl/core/backend/TrainingClient"
import type * as LossGraph from "@effect-rl/core/losses/LossGraph"
import * as Datum from "@effect-rl/core/model/Datum"
import * as Loss from "@effect-rl/core/model/Loss"
import * as ModelInput from "@effect-rl/core/model/ModelInput"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Record from "effect/Record"
import * as Result from "effect/Result"
import * as Bytes from "./Bytes.ts"
import type { Chunk, Tensor as TensorMessage } from "./gen/TinkerPublic.gen.ts"
import * as Gradually from "./Gradually.ts"
import * as Input from "./Input.ts"
import type { Pass, PassRequest } from "./PassRequest.ts"
import * as Provenance from "./Provenance.ts"
import * as Tensor from "./Tensor.ts"

const rejected = (detail: string) => Effect.fail(new TinkerError.Rejected({ detail }))

const orReject = <A>(field: string, result: Result.Result<A, string>) =>
  Result.isSuccess(result) ? Effect.succeed(result.success) : rejected(`${field}: ${result.failure}`)

const toChunk = (chunk: Chunk["chunk"], index: number): Effect.Effect<ModelInput.Chunk, TinkerError.Rejected> => {
  const at = `model_input[${index}]`
  if (chunk.case === "encodedText") {
    return Effect.map(orReject(`${at}.tokens`, Bytes.toInt32(chunk.value.tokens)), (tokens) => ({
      _tag: "EncodedText",
      tokens
    }))
  }
  if (chunk.case !== "image") return rejected(`${at} is ${chunk.case ?? "empty"}, expected encoded_text or image`)
  const { data, expectedTokens, format, overrideDimensions } = chunk.value
  return overrideDimensions === undefined
    ? Input.image(at, data, format, expectedTokens)
    : rejected(`${at}.override_dimensions is not supported by this server, expected it to be absent`)
}

const modelInput = (chunks: ReadonlyArray<Chunk>) =>
  Effect.map(Effect.forEach(chunks, ({ chunk }, index) => toChunk(chunk, index)), ModelInput.fromChunks)

/** Masks tokens whose advantage and log-probability are both 0; they stand for prompt tokens. */
const maskOf = (advantages: Float32Array, logprobs: Float32Array) =>
  advantages.map((advantage, t) => advantage === 0 && logprobs[t] === 0 ? 0 : 1)

const policyInputs = ["target_tokens", "logprobs", "advantages", "weights"]

/** The tensors that a loss reads. */
const inputsOf = ({ kind, name }: Loss.Loss<Datum.Kind>): ReadonlyArray<string> => {
  if (kind !== "PolicyTokens") return ["target_tokens", "weights"]
  return name === "gspo" ? [...policyInputs, "sequence_ratio_mask"] : policyInputs
}

/** The tensors of one datum, by name. */
const makeTensors = (received: PassRequest["data"][number], positions: number, allowance: Tensor.Allowance) => {
  const find = (name: string) => Option.getOrUndefined(Record.get(received.lossFnInputs, name))
  const field = (name: string) => `loss_fn_inputs.${name}`
  const missing = (name: string) => rejected(`${field(name)} is missing`)
  const floats = (name: string) => {
    const found = find(name)
    return found === undefined ? undefined : orReject(field(name), Tensor.floats(found, positions, allowance))
  }
  return {
    targets: Effect.suspend(() => {
      const found = find("target_tokens")
      return found === undefined
        ? missing("target_tokens")
        : orReject(field("target_tokens"), Tensor.tokens(found, positions, allowance))
    }),
    optional: floats,
    required: (name: string) => floats(name) ?? missing(name)
  }
}

const isMask = (weights: Float32Array) => weights.every((weight) => weight === 0 || weight === 1)

const policyDatum = Effect.fnUntraced(function*(
  input: ModelInput.ModelInput,
  targetTokens: Int32Array,
  tensors: ReturnType<typeof makeTensors>,
  loss: Loss.Name
) {
  const logprobs = (yield* tensors.required("logprobs")).values
  const advantages = (yield* tensors.required("advantages")).values
  const name = loss === "gspo" ? "sequence_ratio_mask" : "weights"
  const given = tensors.optional(name)
  const mask = given === undefined ? maskOf(advantages, logprobs) : (yield* given).values
  if (!isMask(mask)) return yield* rejected(`loss_fn_inputs.${name} of a policy loss is its mask, expected 0 or 1`)
  return Datum.policyTokens(input, { targetTokens, logprobs, advantages, mask })
})

const datum = Effect.fnUntraced(function*(
  received: PassRequest["data"][number],
  loss: Loss.Loss<Datum.Kind>,
  allowance: Tensor.Allowance
): Effect.fn.Return<Datum.Datum<Datum.Kind>, TinkerError.Rejected> {
  const input = yield* modelInput(received.modelInput)
  const unread = Object.keys(received.lossFnInputs).find((key) => !inputsOf(loss).includes(key))
  if (unread !== undefined) {
    return yield* rejected(
      `loss_fn_inputs.${unread} is not read by ${loss.name}, expected ${inputsOf(loss).join(", ")}`
    )
  }
  const tensors = makeTensors(received, input.length, allowance)
  const { columns, values: targetTokens } = yield* tensors.targets
  yield* orReject("provenance", Provenance.check(received, input.length, targetTokens.length / (columns ?? 1)))
  const provenance = Provenance.toDatum(received)
  const origin = provenance === undefined ? {} : { provenance }
  if (loss.kind === "PolicyTokens") {
    return { ...yield* policyDatum(input, targetTokens, tensors, loss.name), ...origin }
  }
  const weights = tensors.optional("weights")
  const inputs = {
    targetTokens,
    weights: weights === undefined ? new Float32Array(targetTokens.length).fill(1) : (yield* weights).values
  }
  return columns === undefined
    ? { ...Datum.weightedTokens(input, inputs), ...origin }
    : { kind: "WeightedCandidates" as const, modelInput: input, inputs: { ...inputs, candidates: columns }, ...origin }
})

const losses = new Map<string, Loss.Loss<Datum.Kind>>([
  ["cross_entropy", Loss.crossEntropy],
  ["importance_sampling", Loss.importanceSampling],
  ["ppo", Loss.ppo()],
  ["cispo", Loss.cispo()],
  ["dro", Loss.dro()],
  ["gspo", Loss.gspo()]
])

/** Losses of the API that no backend of this project supports, with what they need. */
const absent = new Map([
  ["stable_reinforce", "it needs the records that the hosted service makes while sampling"]
])

const lossOf = (name: string) => {
  const found = losses.get(name)
  if (found !== undefined) return Effect.succeed(found)
  const known = [...losses.keys()].join(", ")
  const because = absent.get(name)
  const detail = because === undefined
    ? `loss_fn is "${name}", expected one of ${known}`
    : `loss_fn is "${name}": ${because}; expected one of ${known}`
  return Effect.fail(new TinkerError.Unsupported({ capability: "loss", detail }))
}

/** The loss settings. Newer clients send all of them as `loss_fn_config_v2`, and the numeric ones also as `loss_fn_config`. */
const configOf = Effect.fnUntraced(function*({ lossFnConfig, lossFnConfigV2 }: PassRequest) {
  const config: Record<string, number> = { ...lossFnConfig }
  for (const [key, { value }] of Object.entries(lossFnConfigV2)) {
    if (value.case !== "number") {
      const given = value.case === "text" ? `text "${value.value}"` : "empty"
      return yield* rejected(`loss_fn_config.${key} is ${given}, expected a number`)
    }
    config[key] = value.value
  }
  return config
})

/** Converts a pass. Fails with the first invalid field. */
export const toPass = Effect.fnUntraced(function*(
  request: PassRequest
): Effect.fn.Return<Pass, TinkerError.Rejected | TinkerError.Unsupported> {
  const { forwardOnly, lossFn, modelId, seqId } = request
  const loss = yield* lossOf(lossFn)
  const config = { ...loss.config, ...yield* configOf(request) }
  const allowance = { cells: Tensor.mostCells }
  const data = yield* Effect.forEach(request.data, (one) => datum(one, loss, allowance))
  const kind = data.some((one) => one.kind === "WeightedCandidates") ? "WeightedCandidates" : loss.kind
  return { modelId, seqId, data, loss: { ...loss, kind, config }, forwardOnly }
})

/** The loss id to which `custom` refers. */
export const lossId = ({ lossFnConfigV2 }: PassRequest): Effect.Effect<string, TinkerError.Rejected> => {
  const { loss_id: id, ...others } = lossFnConfigV2
  const [other] = Object.keys(others)
  if (other !== undefined) return rejected(`loss_fn_config.${other} is not read by custom, expected loss_id`)
  return id?.value.case === "text"
    ? Effect.succeed(id.value.value)
    : rejected("loss_fn_config.loss_id is missing, expected the id that create_custom_loss gave")
}

/** A graph input in the rank that the graph declares. */
const graphInput = (
  field: string,
  tensor: TensorMessage,
  rank: number,
  positions: number,
  allowance: Tensor.Allowance
) =>
  Effect.flatMap(orReject(field, Tensor.floats(tensor, positions, allowance)), ({ columns, values }) => {
    const isScalar = values.length === 1 && tensor.shape.length === 0
    const shape = columns !== undefined
      ? [values.length / Math.max(columns, 1), columns]
      : rank === 0 && isScalar
      ? []
      : [values.length]
    return shape.length === rank
      ? Effect.succeed<LossGraph.Values>({ data: values, shape })
      : rejected(`${field} has rank ${shape.length}, expected ${rank}`)
  })

const graphDatum = Effect.fnUntraced(function*(
  received: PassRequest["data"][number],
  { inputs: [, ...inputs] }: LossGraph.LossGraph,
  allowance: Tensor.Allowance
) {
  const input = yield* modelInput(received.modelInput)
  const { columns, values: targetTokens } = yield* makeTensors(received, input.length, allowance).targets
  if (columns !== undefined) return yield* rejected("loss_fn_inputs.target_tokens has rank 2, expected 1")
  yield* orReject("provenance", Provenance.check(received, input.length, targetTokens.length))
  const values = yield* Effect.forEach(inputs, ({ name, rank }) => {
    const found = Option.getOrUndefined(Record.get(received.lossFnInputs, name))
    const field = `loss_fn_inputs.${name}`
    return found === undefined
      ? rejected(`${field} is missing`)
      : Effect.map(graphInput(field, found, rank, input.length, allowance), (value) => [name, value] as const)
  })
  return { modelInput: input, targetTokens, inputs: Object.fromEntries(values) }
})

const textTokens = ({ modelInput }: PassRequest["data"][number]) =>
  modelInput.reduce((sum, { chunk }) => sum + (chunk.case === "encodedText" ? chunk.value.tokens.length / 4 : 0), 0)

/** The data that a loss graph reads. Inputs of other losses are allowed besides these. */
export const toGraphData = (
  request: PassRequest,
  graph: LossGraph.LossGraph
): Effect.Effect<ReadonlyArray<TrainingClient.GraphDatum>, TinkerError.Rejected> => {
  const allowance = { cells: Tensor.mostCells }
  return Gradually.forEach(request.data, textTokens, (one) => graphDatum(one, graph, allowance))
}
