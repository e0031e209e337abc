/** Supervised examples as datums for cross entropy. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Renderer from "../chat/Renderer.ts"
import * as Datum from "../model/Datum.ts"
import * as ModelInput from "../model/ModelInput.ts"

/** The error of an example from which no datum can be made. */
export class InvalidExample extends Schema.TaggedError<InvalidExample>()("InvalidExample", {
  example: Schema.String,
  found: Schema.String,
  expected: Schema.String
}) {
  override get message() {
    return `${this.example} has ${this.found}, expected ${this.expected}`
  }
}

/**
 * How an example's token weights are scaled. `none` leaves them unchanged, so every token counts equally. `mean` divides them by their sum,
 * so every example counts equally.
 */
export type Reduction = "none" | "mean"

/** Options for making a datum. */
export interface Options {
  /** The example's name in errors; default: "the example". */
  readonly name?: string
  /** Positions beyond this are cut off; an image that does not fit completely is removed. Default: unlimited. */
  readonly maxLength?: number
  /** How the token weights are scaled; default: `none`. */
  readonly reduction?: Reduction
}

/** The input up to its last text, because a target must be a token. */
const endingInText = ({ chunks }: ModelInput.ModelInput) =>
  ModelInput.fromChunks(chunks.slice(0, chunks.findLastIndex(({ _tag }) => _tag === "EncodedText") + 1))

/** The token at each position; 0 at image positions. */
const tokensOf = ({ chunks, length }: ModelInput.ModelInput): Int32Array => {
  const tokens = new Int32Array(length)
  let at = 0
  for (const chunk of chunks) {
    if (chunk._tag === "EncodedText") tokens.set(chunk.tokens, at)
    at += chunk._tag === "EncodedText" ? chunk.tokens.length : chunk.expectedTokens
  }
  return tokens
}

const reduced = (weightsT: Float32Array, reduction: Reduction) => {
  const sum = weightsT.reduce((sum, weight) => sum + weight, 0)
  return reduction === "mean" && sum > 0 ? weightsT.map((weight) => weight / sum) : weightsT
}

/**
 * Makes the datum of an example: position `t` predicts token `t + 1`, with that token's weight. Fails if there is not exactly one weight
 * per position, or if fewer than two positions are left.
 *
 * @example
 * const datum = renderer.supervisedExample(messages, "last_assistant_message").pipe(
 *   Effect.flatMap((example) => WeightedDatum.fromExample(example, { maxLength: 1024 }))
 * )
 *
 * @see tinker-cookbook `datum_from_model_input_weights`
 */
export const fromExample = Effect.fnUntraced(function*(
  { input, weights }: Renderer.SupervisedExample,
  { maxLength = Infinity, name: example = "the example", reduction = "none" }: Options = {}
): Effect.fn.Return<Datum.Datum<"WeightedTokens">, InvalidExample> {
  if (weights.length !== input.length) {
    const expected = `one for each of its ${input.length} positions`
    return yield* new InvalidExample({ example, found: `${weights.length} weights`, expected })
  }
  const kept = endingInText(ModelInput.take(input, maxLength))
  if (kept.length < 2) {
    const found = `${kept.length} positions to train on`
    return yield* new InvalidExample({ example, found, expected: "at least 2: one to read and one to predict" })
  }
  return Datum.weightedTokens(ModelInput.take(kept, kept.length - 1), {
    targetTokens: tokensOf(kept).subarray(1),
    weights: reduced(weights.slice(1, kept.length), reduction)
  })
})
