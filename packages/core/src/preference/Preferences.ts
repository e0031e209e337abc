/** Batches of preferences: pairs of a chosen and a rejected conversation. */
import * as Effect from "effect/Effect"
import type { ChatModel } from "../chat/ChatModel.ts"
import type { RendererError } from "../chat/Renderer.ts"
import * as Epochs from "../data/Epochs.ts"
import type * as Datum from "../model/Datum.ts"
import type { InvalidOption } from "../record/InvalidOption.ts"
import * as SupervisedDataset from "../supervised/SupervisedDataset.ts"
import * as WeightedDatum from "../supervised/WeightedDatum.ts"

/** Two conversations that differ in their last message. */
export interface Preference {
  readonly chosen: SupervisedDataset.Conversation
  readonly rejected: SupervisedDataset.Conversation
}

/** The datums of a preference. The tokens of the last message have weight 1, all earlier ones weight 0. */
export interface Pair {
  readonly chosen: Datum.Datum<"WeightedTokens">
  readonly rejected: Datum.Datum<"WeightedTokens">
}

/**
 * A dataset of `length` batches; `batch(i, seed)` is a pure function of its arguments, because resuming calls it again. The fingerprint
 * identifies the data and their order, and is compared on resume.
 */
export interface Preferences<out E = never, out R = never> {
  readonly length: number
  readonly fingerprint: string
  readonly batch: (index: number, seed: number) => Effect.Effect<ReadonlyArray<Pair>, E, R>
}

/** How preferences become datums and batches. */
export interface Options extends Epochs.Options {
  readonly model: Pick<ChatModel, "renderer">
  /** Positions of a conversation beyond this are cut off; unlimited unless given. */
  readonly maxLength?: number
}

/** All datums of some pairs: chosen, rejected, chosen, rejected. */
export const interleaved = (pairs: ReadonlyArray<Pair>): ReadonlyArray<Datum.Datum<"WeightedTokens">> =>
  pairs.flatMap(({ chosen, rejected }) => [chosen, rejected])

const datumOf = Effect.fnUntraced(function*(
  { maxLength, model: { renderer } }: Options,
  conversation: SupervisedDataset.Conversation,
  name: string
) {
  const example = yield* SupervisedDataset.named(
    name,
    renderer.supervisedExample(conversation, "last_assistant_message")
  )
  return yield* WeightedDatum.fromExample(example, { name, ...(maxLength === undefined ? {} : { maxLength }) })
})

/**
 * Preferences in batches of `batchSize`, epoch by epoch. The first batch fails with `InvalidOption` where an option is out of range;
 * a conversation that cannot be rendered, or has nothing to train on, fails with its place in `rows`.
 *
 * @example
 * const question = Message.user("What is 2 + 2?")
 * Preferences.pairs(
 *   [{ chosen: [question, Message.assistant("4")], rejected: [question, Message.assistant("5")] }],
 *   { model, batchSize: 1 }
 * )
 *
 * @see tinker-cookbook `DPODatasetBuilderFromComparisons`
 */
export const pairs = (
  rows: ReadonlyArray<Preference>,
  options: Options
): Preferences<RendererError | WeightedDatum.InvalidExample | InvalidOption> => {
  const { batchSize, dropRemainder = false, maxLength } = options
  const invalid = SupervisedDataset.check(options)
  if (invalid !== undefined) return { length: 1, fingerprint: "invalid", batch: () => Effect.fail(invalid) }
  const epochs = Epochs.make("Preferences", rows, options)
  const pairOf = ({ at, row }: Epochs.Placed<Preference>) =>
    Effect.all({
      chosen: datumOf(options, row.chosen, `the chosen conversation of preference ${at}`),
      rejected: datumOf(options, row.rejected, `the rejected conversation of preference ${at}`)
    })
  return {
    length: epochs.length,
    fingerprint: [
      epochs.fingerprint,
      `${batchSize} per batch${dropRemainder ? ", full batches only" : ""}`,
      `longest ${maxLength ?? "unlimited"}`
    ].join(", "),
    batch: (index, seed) => Effect.flatMap(epochs.batch(index, seed), Effect.forEach(pairOf))
  }
}
