/** Accepts requests: what every answer to a submission has in common. */
import { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { createHash } from "node:crypto"
import type * as Future from "../wire/Future.ts"
import type { SequenceId } from "../wire/Json.ts"
import type { Answer } from "./Answer.ts"
import type { Parts } from "./Parts.ts"
import type { Refusal } from "./Refusal.ts"
import type { Model } from "./Sessions.ts"

export const promised = (request: typeof Future.Promised.Type) => HttpServerResponse.jsonUnsafe(request)

/** Tells contents apart. */
export const digest = (content: string | Uint8Array) => createHash("sha256").update(content).digest("hex")

/** What a client wants done to its model, as number `sequence` of its requests. */
export interface Submission {
  readonly operation: string
  readonly model: Model
  readonly sequence: SequenceId | null | undefined
  /** Equal for a request that is sent again. */
  readonly content: string
  /** In this request's turn: returns what to wait for while the next is submitted. */
  readonly submit: Effect.Effect<Effect.Effect<Answer, TinkerError.TinkerError>, TinkerError.TinkerError>
}

/** Begins it in its turn, once. */
export const training = (
  { futures }: Parts,
  { content, model, operation, sequence, submit }: Submission
): Effect.Effect<HttpServerResponse.HttpServerResponse, Refusal> => {
  const number = sequence === null || sequence === undefined || sequence === 0 ? undefined : Number(sequence)
  const work = Effect.flatten(model.turns.take(operation, number, submit))
  const { modelId } = model.client.info
  const once = number === undefined
    ? undefined
    : { key: `seq_id ${number} of model ${modelId} (${model.serial})`, content }
  return Effect.map(futures.begin(work, once), (request_id) => promised({ request_id, model_id: modelId }))
}

/** Names the operation in a reason found before the backend was asked. */
export const named = (operation: string) => <A>(effect: Effect.Effect<A, TinkerError.Reason>) =>
  Effect.mapError(effect, (reason) => new TinkerError.TinkerError({ operation, reason }))
