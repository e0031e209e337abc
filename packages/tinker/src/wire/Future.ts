/** Bodies for promises: the answer to a submission, and the answers to polls for its result. */
import { TinkerError } from "@effect-rl/core"
import * as Schema from "effect/Schema"

/** Size of a result in bytes. The client reserves memory for it before it requests the result. */
const Size = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** The answer to every submission. */
export const Promised = Schema.Struct({
  request_id: Schema.String,
  model_id: Schema.optionalKey(Schema.NullOr(Schema.String)),
  /** One id per requested sample; newer official SDKs require it. */
  sample_sequence_ids: Schema.optionalKey(Schema.Array(Schema.String))
})

export const RetrieveRequest = Schema.Struct({
  request_id: Schema.String,
  model_id: Schema.optionalKey(Schema.NullOr(Schema.String)),
  allow_metadata_only: Schema.optionalKey(Schema.Boolean)
})

/** Waits for all requests of one client of a sampling session. `prev_cursor` comes from the previous answer. */
export const RetrieveManyRequest = Schema.Struct({
  target: Schema.Struct({
    type: Schema.optionalKey(Schema.Literal("sampling_session")),
    sampling_session_id: Schema.String,
    cloned_sampler_id: Schema.optionalKey(Schema.Int)
  }),
  prev_cursor: Schema.optionalKey(Schema.Int),
  /** How long the server may wait for a finished request, in seconds. */
  timeout: Schema.optionalKey(Schema.NullOr(Schema.Number)),
  /** Requests whose results the server may forget. */
  retrieved_request_ids: Schema.optionalKey(Schema.Array(Schema.String))
})

export const RetrieveManyResponse = Schema.Struct({
  completions: Schema.Array(
    Schema.Struct({
      request_id: Schema.String,
      state: Schema.Literals(["finished", "failed"]),
      response_payload_uncompressed_size: Schema.optionalKey(Schema.NullOr(Size))
    })
  ),
  cursor: Schema.Int
})

export const CancelRequest = Schema.Struct({ request_id: Schema.String })

/** The answer while a result is not ready; also the body of a 408. */
export const TryAgain = Schema.Struct({
  type: Schema.Literal("try_again"),
  request_id: Schema.optionalKey(Schema.String),
  queue_state: Schema.optionalKey(Schema.String),
  queue_state_reason: Schema.optionalKey(Schema.NullOr(Schema.String))
})

/** The result is ready and has this size; the client then requests all of it. */
export const Metadata = Schema.Struct({
  type: Schema.optionalKey(Schema.String),
  status: Schema.Literal("complete_metadata"),
  response_payload_size: Size
})

/** A failed result. Only servers of this project send `reason`. */
export const Failed = Schema.Struct({
  error: Schema.String,
  category: Schema.optionalKey(Schema.String),
  reason: Schema.optionalKey(TinkerError.Reason)
})
export type Failed = typeof Failed.Type

/** The body of a refused request. */
export const Refused = Schema.Struct({
  detail: Schema.optionalKey(Schema.Unknown),
  reason: Schema.optionalKey(TinkerError.Reason)
})

const userReasons: ReadonlyArray<string> = ["Rejected", "Unsupported", "NotFound", "ContextTooLong"]

const category = (reason: TinkerError.Reason) => userReasons.includes(reason._tag) ? "user" : "server"

/** Converts an error to the failed result of a promise. */
export const failed = (reason: TinkerError.Reason): Failed => ({
  error: reason.message,
  category: category(reason),
  reason
})

export const encodeFailed = Schema.encodeEffect(Failed)
export const encodeRefused = Schema.encodeEffect(Refused)
