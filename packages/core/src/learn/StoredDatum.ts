/**
 * A training datum as JSON with bit-exact arrays. A credit stores data in this form to train on them again.
 *
 * @example
 * const remember = (data: ReadonlyArray<TrainingData.TrainingDatum>) =>
 *   Schema.encodeEffect(Schema.Array(StoredDatum.StoredDatum))(data)
 */
import * as Schema from "effect/Schema"
import * as Base64Array from "../rollout/payload/Base64Array.ts"

const Text = Schema.TaggedStruct("EncodedText", { tokens: Base64Array.int32 })

const Image = Schema.TaggedStruct("Image", {
  data: Schema.Uint8ArrayFromBase64,
  format: Schema.Literals(["png", "jpeg"]),
  expectedTokens: Schema.Int
})

const Span = Schema.Struct({
  of: Schema.Literals(["prompt", "sampled"]),
  sequenceId: Schema.String,
  offset: Schema.Int,
  length: Schema.Int
})

/** The schema that encodes a `TrainingData.TrainingDatum` as JSON. */
export const StoredDatum = Schema.Struct({
  kind: Schema.Literal("PolicyTokens"),
  modelInput: Schema.Struct({ chunks: Schema.Array(Schema.Union([Text, Image])), length: Schema.Int }),
  inputs: Schema.Struct({
    targetTokens: Base64Array.int32,
    logprobs: Base64Array.float32,
    advantages: Base64Array.float32,
    mask: Base64Array.float32
  }),
  origin: Schema.Struct({
    iteration: Schema.Int,
    group: Schema.String,
    member: Schema.Int,
    turns: Schema.Array(Schema.Int),
    segment: Schema.Int,
    samplerStep: Schema.Int
  }),
  samplerSteps: Schema.optionalKey(Base64Array.int32),
  provenance: Schema.optionalKey(Schema.Struct({ modelInput: Schema.Array(Span), targets: Schema.Array(Span) }))
})
