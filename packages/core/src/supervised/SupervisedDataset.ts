/** Batches of examples to imitate. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type { ChatModel } from "../catalog/ChatModel.ts"
import type * as Message from "../chat/Message.ts"
import * as Renderer from "../chat/Renderer.ts"
import * as Epochs from "../data/Epochs.ts"
import * as StreamedRows from "../data/StreamedRows.ts"
import type * as Datum from "../model/Datum.ts"
import * as Check from "../settings/Check.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as WeightedDatum from "./WeightedDatum.ts"

/** A conversation to imitate. */
export type Conversation = ReadonlyArray<Message.Message>

/**
 * A dataset of `length` batches; `batch(i, seed)` is a pure function of its arguments, because resuming calls it again. The fingerprint
 * identifies the data, their order and the part that is trained on, and is compared on resume.
 *
 * @see tinker-cookbook `SupervisedDataset`
 */
export interface SupervisedDataset<out E = never, out R = never> {
  readonly length: number
  readonly fingerprint: string
  /** A batch that has fewer conversations than the others because the rows of an epoch do not fill it. */
  readonly shortBatch?: Epochs.ShortBatch | undefined
  readonly batch: (
    index: number,
    seed: number
  ) => Effect.Effect<ReadonlyArray<Datum.Datum<"WeightedTokens">>, E, R>
}

/** How a conversation becomes examples. */
export interface ExampleOptions {
  readonly model: Pick<ChatModel, "renderer">
  /** Which messages are trained on; default "all_assistant_messages". */
  readonly trainOn?: Renderer.TrainOnWhat
  /** Positions of an example beyond this are cut off; unlimited unless given. */
  readonly maxLength?: number
  /** How tokens are weighted; default "none": every trained token counts the same. */
  readonly reduction?: WeightedDatum.Reduction
}

/** How conversations become examples and batches. */
export interface ConversationsOptions extends ExampleOptions, Epochs.Options {}

/** How a stream of conversations becomes examples and batches. */
export interface StreamedOptions extends ExampleOptions, StreamedRows.Options {}

/** Modes that a renderer without the extension property trains as one example per assistant message. */
const perMessage: ReadonlySet<Renderer.TrainOnWhat> = new Set([
  "last_assistant_message",
  "last_assistant_turn",
  "all_assistant_messages"
])

/** A renderer's error with the name of the conversation that it could not render. */
export const named = <A>(name: string, rendered: Effect.Effect<A, Renderer.RendererError>) =>
  Effect.mapError(
    rendered,
    ({ detail, renderer }) => new Renderer.RendererError({ renderer, detail: `${name}: ${detail}` })
  )

/** The examples of one conversation, each after the prompt that the model would be sampled with. */
const examples = (
  { renderer }: Pick<ChatModel, "renderer">,
  conversation: Conversation,
  trainOn: Renderer.TrainOnWhat
) =>
  perMessage.has(trainOn)
    ? renderer.supervisedExamples(conversation, trainOn)
    : Effect.map(renderer.supervisedExample(conversation, trainOn), (example) => [example])

/** Fails with the first invalid option. */
export const check = ({ batchSize, epochs, maxLength }: Epochs.Options & { readonly maxLength?: number }) =>
  Check.broken([
    Check.option("batchSize", batchSize, Check.whole(1)),
    Check.option("epochs", epochs, Check.whole(1)),
    Check.option("maxLength", maxLength, Check.whole(2))
  ])

const defaultTrainOn: Renderer.TrainOnWhat = "all_assistant_messages"

/** The datums of a conversation at a place in its rows. */
const dataOf =
  ({ maxLength, model, reduction = "none", trainOn = defaultTrainOn }: ExampleOptions) =>
  ({ at, row }: Epochs.Placed<Conversation>) => {
    const name = `conversation ${at}`
    return Effect.flatMap(
      named(name, examples(model, row, trainOn)),
      Effect.forEach((example) =>
        WeightedDatum.fromExample(example, { name, reduction, ...(maxLength === undefined ? {} : { maxLength }) })
      )
    )
  }

/** What is trained of a conversation, as part of a fingerprint. */
const trained = ({ maxLength, reduction = "none", trainOn = defaultTrainOn }: ExampleOptions) =>
  `trained on ${trainOn}, reduction ${reduction}, longest ${maxLength ?? "unlimited"}`

/**
 * Conversations in batches of `batchSize`, epoch by epoch. A conversation is one datum, or one per trained assistant message where
 * the renderer rewrites history. The first batch fails with `InvalidOption` where an option is out of range; a conversation that
 * cannot be rendered, or has nothing to train on, fails with its place in `rows`.
 *
 * @example
 * SupervisedDataset.conversations(conversations, { model, batchSize: 32, epochs: 2, shuffle: true })
 *
 * @see tinker-cookbook `conversation_to_datum`, `SupervisedDatasetFromHFDataset`
 */
export const conversations = (
  rows: ReadonlyArray<Conversation>,
  options: ConversationsOptions
): SupervisedDataset<Renderer.RendererError | WeightedDatum.InvalidExample | InvalidOption> => {
  const { batchSize, dropRemainder = false } = options
  const invalid = check(options)
  if (invalid !== undefined) return { length: 1, fingerprint: "invalid", batch: () => Effect.fail(invalid) }
  const epochs = Epochs.make("SupervisedDataset", rows, options)
  return {
    length: epochs.length,
    shortBatch: epochs.shortBatch,
    fingerprint: [
      epochs.fingerprint,
      `${batchSize} per batch${dropRemainder ? ", full batches only" : ""}`,
      trained(options)
    ].join(", "),
    batch: (index, seed) =>
      Effect.map(
        Effect.flatMap(epochs.batch(index, seed), Effect.forEach(dataOf(options))),
        (data) => data.flat()
      )
  }
}

/**
 * Conversations of a stream, which need not fit into memory: an async iterable is one by `Stream.fromAsyncIterable`. The stream is read
 * forward; a resumed run reads it again and passes over the rows that were trained on, so that it must give the same rows each
 * time. Rows that do not fill a batch at the end of an epoch are left out. Fails with the first invalid option; a batch fails where the
 * stream ends before the `rows` that were promised.
 *
 * @example
 * Effect.gen(function*() {
 *   const rows = Stream.fromIterable(conversations)
 *   const dataset = yield* SupervisedDataset.streamed(rows, { name: "chats 1.0", rows: conversations.length, model, batchSize: 1 })
 *   return yield* Stream.runDrain(Supervised.run({ model, dataset }))
 * })
 *
 * @see tinker-cookbook `StreamingSupervisedDatasetFromHFDataset`
 */
export const streamed = Effect.fnUntraced(function*<E, R>(
  rows: Stream.Stream<Conversation, E, R>,
  options: StreamedOptions
): Effect.fn.Return<
  SupervisedDataset<E | Renderer.RendererError | WeightedDatum.InvalidExample | InvalidOption, R>,
  InvalidOption,
  Scope.Scope
> {
  yield* Check.all(Check.option("maxLength", options.maxLength, Check.whole(2)))
  const { batch, fingerprint, length } = yield* StreamedRows.make(rows, options)
  return {
    length,
    fingerprint: [fingerprint, `${options.batchSize} per batch, full batches only`, trained(options)].join(", "),
    batch: (index, seed) =>
      Effect.map(
        Effect.flatMap(batch(index, seed), Effect.forEach(dataOf(options))),
        (data) => data.flat()
      )
  }
})
