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
 * A dataset of `length` batches. `batch(i, seed)` must be a pure function, because a resumed run calls it again. The fingerprint identifies
 * the data, their order and the trained part; a resumed run checks that it has not changed.
 *
 * @see tinker-cookbook `SupervisedDataset`
 */
export interface SupervisedDataset<out E = never, out R = never> {
  readonly length: number
  readonly fingerprint: string
  /** A batch with fewer conversations than the others, if the rows of an epoch do not fill it. */
  readonly shortBatch?: Epochs.ShortBatch | undefined
  readonly batch: (
    index: number,
    seed: number
  ) => Effect.Effect<ReadonlyArray<Datum.Datum<"WeightedTokens">>, E, R>
}

/** How a conversation becomes examples. */
export interface ExampleOptions {
  /** Renders the conversations. */
  readonly model: Pick<ChatModel, "renderer">
  /** Which messages are trained; default `all_assistant_messages`. */
  readonly trainOn?: Renderer.TrainOnWhat
  /** Positions beyond this are cut off; default: unlimited. */
  readonly maxLength?: number
  /** How tokens are weighted; default `none`: every trained token has equal weight. */
  readonly reduction?: WeightedDatum.Reduction
}

/** How conversations become examples and batches. */
export interface ConversationsOptions extends ExampleOptions, Epochs.Options {}

/** How a stream of conversations becomes examples and batches. */
export interface StreamedOptions extends ExampleOptions, StreamedRows.Options {}

/** Modes for which a renderer without the extension property makes one example per assistant message. */
const perMessage: ReadonlySet<Renderer.TrainOnWhat> = new Set([
  "last_assistant_message",
  "last_assistant_turn",
  "all_assistant_messages"
])

/** Adds the conversation's name to a renderer's error. */
export const named = <A>(name: string, rendered: Effect.Effect<A, Renderer.RendererError>) =>
  Effect.mapError(
    rendered,
    ({ detail, renderer }) => new Renderer.RendererError({ renderer, detail: `${name}: ${detail}` })
  )

/** The examples of a conversation; each starts with the prompt that the model would be sampled with. */
const examples = (
  { renderer }: Pick<ChatModel, "renderer">,
  conversation: Conversation,
  trainOn: Renderer.TrainOnWhat
) =>
  perMessage.has(trainOn)
    ? renderer.supervisedExamples(conversation, trainOn)
    : Effect.map(renderer.supervisedExample(conversation, trainOn), (example) => [example])

/** The error of the first invalid option; undefined if all are valid. */
export const check = ({ batchSize, epochs, maxLength }: Epochs.Options & { readonly maxLength?: number }) =>
  Check.broken([
    Check.option("batchSize", batchSize, Check.whole(1)),
    Check.option("epochs", epochs, Check.whole(1)),
    Check.option("maxLength", maxLength, Check.whole(2))
  ])

const defaultTrainOn: Renderer.TrainOnWhat = "all_assistant_messages"

/** The datums of a conversation, given its index in the rows. */
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

/** The trained part of a conversation, as text for the fingerprint. */
const trained = ({ maxLength, reduction = "none", trainOn = defaultTrainOn }: ExampleOptions) =>
  `trained on ${trainOn}, reduction ${reduction}, longest ${maxLength ?? "unlimited"}`

/**
 * Makes batches of `batchSize` conversations, epoch by epoch. A conversation becomes one datum, or one per trained assistant message if the
 * renderer rewrites history. The first batch fails with `InvalidOption` if an option is out of range. A conversation that cannot be
 * rendered or has nothing to train fails with its index in `rows`.
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
 * Makes batches from a stream of conversations, which need not fit into memory; use `Stream.fromAsyncIterable` for an async iterable. The
 * stream is read forward, and a resumed run reads it again and skips the rows already trained on, so it must return the same rows each
 * time. Rows that do not fill a batch at the end of an epoch are left out. Fails with the first invalid option. A batch fails if the stream
 * ends before the promised number of `rows`.
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
