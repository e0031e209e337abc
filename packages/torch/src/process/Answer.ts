/** What the Python process answers, beside its arrays. */
import { TinkerError } from "@effect-rl/core"
import * as Schema from "effect/Schema"

/** The first frame, once the model is loaded. */
export const Ready = Schema.Struct({
  vocabulary: Schema.Int,
  contextLength: Schema.Int,
  /** Tokens that end a sequence unless a request names others. */
  endsOfSequence: Schema.Array(Schema.Int),
  /** Whether strings can stop a sample. */
  hasTokenizer: Schema.Boolean
})
export interface Ready extends Schema.Schema.Type<typeof Ready> {}

/** An adapter that was made or loaded. */
export const Made = Schema.Struct({ rank: Schema.Int, memoryBytes: Schema.Int })

/** A pass; its array `logprobs` has those of all targets, datum by datum. */
export const Passed = Schema.Struct({ loss: Schema.Number })

/** A step of the optimizer. */
export const Stepped = Schema.Struct({ metrics: Schema.Record(Schema.String, Schema.Number) })

/** A checkpoint that was written. */
export const Saved = Schema.Struct({ digest: Schema.String })

/** Samples; the arrays `tokens` and `logprobs` have those of all of them, one after the other. */
export const Sampled = Schema.Struct({
  lengths: Schema.Array(Schema.Int),
  reasons: Schema.Array(Schema.Literals(["stop", "length"]))
})

/** Nothing but that it was done. */
export const Done = Schema.Struct({})

const Refusal = Schema.Struct({
  error: Schema.Struct({
    reason: Schema.Literals(["Rejected", "Unsupported", "Unavailable", "NotFound", "Closed"]),
    detail: Schema.String,
    /** What is not supported, or the name that was not found. */
    of: Schema.optionalKey(Schema.String),
    lacks: Schema.optionalKey(Schema.Literal("memory"))
  })
})

/** Whether an answer refuses its command. */
export const isRefusal = Schema.is(Refusal)

/** The reason of a refusal. */
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
