/** Batches of preferences. Each preference is a chosen and a rejected conversation. */
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import type { ChatModel } from "../catalog/ChatModel.ts"
import * as Message from "../chat/Message.ts"
import type { RendererError } from "../chat/Renderer.ts"
import * as Epochs from "../data/Epochs.ts"
import type * as Datum from "../model/Datum.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as SupervisedDataset from "../supervised/SupervisedDataset.ts"
import * as WeightedDatum from "../supervised/WeightedDatum.ts"

/**
 * Two answers to one prompt. The prompt is either a separate property, as in TRL, or the common beginning of two conversations that differ
 * only in their last message. A string is a user message as the prompt and an assistant message as an answer.
 */
export interface Preference {
  readonly prompt?: SupervisedDataset.Conversation | string
  readonly chosen: SupervisedDataset.Conversation | string
  readonly rejected: SupervisedDataset.Conversation | string
}

/** The datums of a preference. Tokens of the last message have weight 1, all others weight 0. */
export interface Pair {
  readonly chosen: Datum.Datum<"WeightedTokens">
  readonly rejected: Datum.Datum<"WeightedTokens">
}

/**
 * A dataset of `length` batches. `batch(i, seed)` must be a pure function of its arguments, because a resumed run calls it again. The
 * fingerprint identifies the data and their order; a resumed run checks that it has not changed.
 */
export interface Preferences<out E = never, out R = never> {
  readonly length: number
  readonly fingerprint: string
  /** A batch that is smaller than the others because the rows of an epoch do not fill it. */
  readonly shortBatch?: Epochs.ShortBatch | undefined
  readonly batch: (index: number, seed: number) => Effect.Effect<ReadonlyArray<Pair>, E, R>
}

/** How preferences are converted to datums and batches. */
export interface Options extends Epochs.Options {
  /** Renders the conversations. */
  readonly model: Pick<ChatModel, "renderer">
  /** Maximum length of a conversation in tokens; the rest is cut off. Default: unlimited. */
  readonly maxLength?: number
}

/** The datums of several pairs, interleaved: chosen, rejected, chosen, rejected. */
export const interleaved = (pairs: ReadonlyArray<Pair>): ReadonlyArray<Datum.Datum<"WeightedTokens">> =>
  pairs.flatMap(({ chosen, rejected }) => [chosen, rejected])

const messagesOf = (
  given: SupervisedDataset.Conversation | string,
  message: (text: string) => Message.Message
): SupervisedDataset.Conversation => typeof given === "string" ? [message(given)] : given

/** Both conversations with their prompt. Fails if they have no common prompt. */
const conversationsOf = ({ at, row }: Epochs.Placed<Preference>) => {
  const prompt = row.prompt === undefined ? [] : messagesOf(row.prompt, Message.user)
  const chosen = [...prompt, ...messagesOf(row.chosen, Message.assistant)]
  const rejected = [...prompt, ...messagesOf(row.rejected, Message.assistant)]
  const example = `preference ${at}`
  if (chosen.length < 2 || rejected.length < 2) {
    const found = `no message before the ${chosen.length < 2 ? "chosen" : "rejected"} answer`
    const expected = "the prompt in both conversations, or as `prompt`"
    return Effect.fail(new WeightedDatum.InvalidExample({ example, found, expected }))
  }
  if (!Equal.equals(chosen.slice(0, -1), rejected.slice(0, -1))) {
    const found = "different messages before its two answers"
    return Effect.fail(new WeightedDatum.InvalidExample({ example, found, expected: "the same prompt for both" }))
  }
  return Effect.succeed({ chosen, rejected })
}

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
 * Preferences in batches of `batchSize`, epoch by epoch. The first batch fails with `InvalidOption` if an option is out of range. A batch
 * fails with the index of the row if the two answers share no prompt, or if a conversation cannot be rendered or has nothing to train on.
 *
 * @example
 * Preferences.pairs([{ prompt: "What is 2 + 2?", chosen: "4", rejected: "5" }], { model, batchSize: 1 })
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
  const pairOf = Effect.fnUntraced(function*(placed: Epochs.Placed<Preference>) {
    const { chosen, rejected } = yield* conversationsOf(placed)
    return {
      chosen: yield* datumOf(options, chosen, `the chosen conversation of preference ${placed.at}`),
      rejected: yield* datumOf(options, rejected, `the rejected conversation of preference ${placed.at}`)
    }
  })
  return {
    length: epochs.length,
    shortBatch: epochs.shortBatch,
    fingerprint: [
      epochs.fingerprint,
      `${batchSize} per batch${dropRemainder ? ", full batches only" : ""}`,
      `longest ${maxLength ?? "unlimited"}`
    ].join(", "),
    batch: (index, seed) => Effect.flatMap(epochs.batch(index, seed), Effect.forEach(pairOf))
  }
}
