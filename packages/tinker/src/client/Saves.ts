/** Saves checkpoints exactly once, even if a save is requested twice. */
import type { TrainingClient } from "@effect-rl/core/backend"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import { Checkpoints } from "../wire/Administration.ts"
import { SaveWeightsResult } from "../wire/SavedWeights.ts"
import * as Connection from "./Connection.ts"
import * as Futures from "./Futures.ts"
import type { Submission } from "./TrainingQueue.ts"
import { hasStatus, type WireError } from "./WireError.ts"

/** The endpoint and the checkpoint name prefix for each kind. */
const kinds = {
  weights: { endpoint: "/save_weights", type: "save_weights", kind: "SaveWeights" },
  sampler_weights: {
    endpoint: "/save_weights_for_sampler",
    type: "save_weights_for_sampler",
    kind: "SaveWeightsForSampler"
  },
  external_weights: {
    endpoint: "/save_weights_external",
    type: "save_weights_external",
    kind: "SaveWeightsExternal"
  }
} as const

export type Kind = keyof typeof kinds

const list = (connection: Connection.Connection, modelId: string) =>
  Connection.call(connection, HttpClientRequest.get(`/training_runs/${modelId}/checkpoints`), Checkpoints)

/**
 * If a save without an answer is repeated and fails because the checkpoint exists, the earlier attempt created it, provided it is listed.
 */
const findRepeated = (connection: Connection.Connection, modelId: string, id: string, failure: WireError) =>
  hasStatus(failure, 409) && failure.isRepeated === true
    ? Effect.flatMap(list(connection, modelId), ({ checkpoints }) => {
      const found = checkpoints.find(({ checkpointId }) => checkpointId === id)
      return found === undefined
        ? Effect.fail(failure)
        : Effect.succeed(Effect.succeed({ path: found.path }))
    })
    : Effect.fail(failure)

type Options = TrainingClient.SaveOptions & TrainingClient.ExternalSaveOptions

const optionsOf = ({ ageEncryptionRecipients, ttl, userMetadata }: Options) => ({
  ...(ttl === undefined ? {} : { ttl_seconds: Math.ceil(Duration.toSeconds(ttl)) }),
  ...(userMetadata === undefined ? {} : { user_metadata: userMetadata }),
  ...(ageEncryptionRecipients === undefined ? {} : { age_encryption_recipients: ageEncryptionRecipients })
})

export const submission = (
  futures: Futures.Futures,
  modelId: string,
  kind: Kind,
  name: string,
  options: Options
): Submission<TrainingClient.Checkpoint> => {
  const { endpoint, kind: promised, type } = kinds[kind]
  const overwrite = kind === "weights" ? { overwrite: true } : {}
  return (nextSeqId) => {
    const request = Connection.post(endpoint, {
      model_id: modelId,
      path: name,
      seq_id: nextSeqId(),
      ...overwrite,
      ...optionsOf(options),
      type
    })
    return Effect.catch(
      Futures.promised(futures, promised, request, Futures.json(SaveWeightsResult)),
      (failure) => findRepeated(futures.connection, modelId, `${kind}/${name}`, failure)
    )
  }
}
