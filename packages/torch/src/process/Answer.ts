/** Schemas for the JSON headers of the Python process's answers. */
import { TinkerError } from "@effect-rl/core"
import * as Schema from "effect/Schema"

/** The first frame, sent once the model is loaded. */
export const Ready = Schema.Struct({
  vocabulary: Schema.Int,
  contextLength: Schema.Int,
  /** Tokens that end a sequence unless a request gives stop tokens. */
  endsOfSequence: Schema.Array(Schema.Int),
  /** Whether string stops are available. */
  hasTokenizer: Schema.Boolean
})
export interface Ready extends Schema.Schema.Type<typeof Ready> {}

/** An adapter was created or loaded. */
export const Made = Schema.Struct({ rank: Schema.Int, memoryBytes: Schema.Int })

/** A pass was computed; its array `logprobs` has the log-probabilities of all targets, datum by datum. */
export const Passed = Schema.Struct({ loss: Schema.Number })

/** An optimizer step was applied. */
export const Stepped = Schema.Struct({ metrics: Schema.Record(Schema.String, Schema.Number) })

/** A checkpoint was written. */
export const Saved = Schema.Struct({ digest: Schema.String })

/** Samples were drawn; the arrays `tokens` and `logprobs` hold all samples one after the other. */
export const Sampled = Schema.Struct({
  lengths: Schema.Array(Schema.Int),
  reasons: Schema.Array(Schema.Literals(["stop", "length"]))
})

/** A command was completed without a result. */
export const Done = Schema.Struct({})

const Refusal = Schema.Struct({
  error: Schema.Struct({
    reason: Schema.Literals(["Rejected", "Unsupported", "Unavailable", "NotFound", "Closed"]),
    detail: Schema.String,
    /** The unsupported capability, or the name that was not found. */
    of: Schema.optionalKey(Schema.String),
    lacks: Schema.optionalKey(Schema.Literal("memory"))
  })
})

/** Whether an answer is a refusal. */
export const isRefusal = Schema.is(Refusal)

/** Converts a refusal to the failure reason of a `TinkerError`. */
export const reasonOf = (
  { error: { detail, lacks, of = "", reason } }: Schema.Schema.Type<typeof Refusal>
): TinkerError.Reason => {
  switch (reason) {
    case "Rejected":
      return new TinkerError.Rejected({ detail })
    case "Unsupported":
      return new TinkerError.Unsupported({ capability: of, detail })
    case "Unavailable":
      return new TinkerError.Unavailable({ detail, ...(lacks !== undefined && { lacks }) })
    case "NotFound":
      return new TinkerError.NotFound({ kind: "model", name: of, available: [] })
    case "Closed":
      return new TinkerError.Closed({ detail })
  }
}
