/**
 * Tools that receive a run live. A sink reads the run's records from its store, as a viewer does, so no records are queued in memory for
 * it, and records that it misses can be exported later.
 */
import { type RunRecord, RunStore } from "@effect-rl/core"
import { StoryReader } from "@effect-rl/core/records"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Predicate from "effect/Predicate"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"

/** A tool or its file did not accept a record. */
export class SinkError extends Schema.TaggedError<SinkError>()("SinkError", {
  sink: Schema.String,
  detail: Schema.String,
  /** The number of records that are lost; 1 if undefined. */
  records: Schema.optionalKey(Schema.Int)
}) {
  override get message() {
    return `${this.sink}: ${this.detail}`
  }
}

/** Receives records in order. A record is not retried if its write fails. */
export interface Writer {
  readonly write: (record: RunRecord.RunRecord) => Effect.Effect<void, SinkError>
}

/** A tool that receives a run. Its resources are released with the scope; a buffering writer then writes the rest. */
export interface Sink<out R = never> {
  readonly name: string
  /** Advice on how to send missed records. */
  readonly hint?: string
  readonly open: (run: RunStore.RunReader) => Effect.Effect<Writer, SinkError, R | Scope.Scope>
}

/** Time limits of a sink. */
export interface Patience {
  /** Maximum time to write one record or to open the sink; 10 seconds by default. */
  readonly write?: Duration.Input
  /** Maximum time to write the remaining records when the run ends; 10 seconds by default. */
  readonly close?: Duration.Input
}

const patience = (options: Patience = {}) => ({
  write: Duration.fromInputUnsafe(options.write ?? "10 seconds"),
  close: Duration.fromInputUnsafe(options.close ?? "10 seconds")
})

const lastSequence = (run: RunStore.RunReader) => Stream.runFold(run.read, () => -1, (_, { sequence }) => sequence)

/** Fails after the time limit, even if the work cannot be interrupted. Such work continues in the background. */
const within = <A, E, R>(work: Effect.Effect<A, E, R>, sink: string, time: Duration.Duration) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkDetach(work)
    return yield* Fiber.join(fiber).pipe(
      Effect.onInterrupt(() => Effect.forkDetach(Fiber.interrupt(fiber))),
      Effect.timeoutOrElse({
        duration: time,
        orElse: () => new SinkError({ sink, detail: `no answer within ${Duration.format(time)}` })
      })
    )
  })

/** The sink's position in the records, and the number of lost records. */
interface Account {
  /** Sequence number of the last record that the sink handled. */
  readonly seen: SubscriptionRef.SubscriptionRef<number>
  readonly lost: Ref.Ref<number>
}

const withHint = (text: string, { hint }: Sink<unknown>) => hint === undefined ? text : `${text}; ${hint}`

/** Counts a lost record. Only the first failure is logged here; the total is logged at the end. */
const losing = (account: Account, sink: Sink<unknown>) => (error: SinkError) =>
  Effect.flatMap(
    Ref.getAndUpdate(account.lost, (lost) => lost + (error.records ?? 1)),
    (before) => before > 0 ? Effect.void : Effect.logWarning(withHint(`${error.message}. The run continues`, sink))
  )

/** Sends every record after the sequence number to the sink. Ends only if the sink cannot be opened. */
const feed = <R>(sink: Sink<R>, run: RunStore.RunReader, after: number, account: Account, time: Duration.Duration) =>
  Effect.scoped(Effect.gen(function*() {
    const writer = yield* within(sink.open(run), sink.name, time)
    yield* Stream.runForEach(run.follow(after), (record) =>
      within(writer.write(record), sink.name, time).pipe(
        Effect.catch(losing(account, sink)),
        Effect.andThen(SubscriptionRef.set(account.seen, record.sequence))
      ))
  }))

/** Waits, within the time limit, until all recorded records are written, then logs how many are missing. */
const settle = Effect.fnUntraced(function*(
  sink: Sink<unknown>,
  run: RunStore.RunReader,
  fiber: Fiber.Fiber<unknown, unknown>,
  account: Account,
  time: Duration.Duration
) {
  const last = yield* Effect.orElseSucceed(lastSequence(run), () => -1)
  const caughtUp = SubscriptionRef.changes(account.seen).pipe(
    Stream.takeUntil((seen) => seen >= last),
    Stream.runDrain
  )
  yield* Effect.timeoutOption(Effect.raceFirst(caughtUp, Fiber.await(fiber)), time)
  const closing = yield* Effect.forkDetach(Fiber.interrupt(fiber))
  yield* Effect.timeoutOption(Fiber.join(closing), time)
  const missing = (yield* Ref.get(account.lost)) + Math.max(0, last - (yield* SubscriptionRef.get(account.seen)))
  if (missing === 0) return
  yield* Effect.logWarning(withHint(`${sink.name} did not take ${missing} records`, sink))
})

const reasonOf = (cause: Cause.Cause<SinkError | RunStore.RunError>) => {
  const error = Cause.squash(cause)
  return Predicate.isError(error) ? error.message : String(error)
}

const attach = Effect.fnUntraced(function*<R>(sink: Sink<R>, options: Patience | undefined) {
  const run = yield* RunStore.RunStore
  const { close, write } = patience(options)
  const begun = yield* lastSequence(run)
  const account: Account = { seen: yield* SubscriptionRef.make(begun), lost: yield* Ref.make(0) }
  const fiber = yield* feed(sink, run, begun, account, write).pipe(
    Effect.tapCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.void
        : Effect.logWarning(`${sink.name} does not receive this run: ${reasonOf(cause)}. The run continues`)
    ),
    Effect.forkDetach
  )
  yield* Effect.addFinalizer(() => settle(sink, run, fiber, account, close))
})

/**
 * Sends everything that the run records from now on to the sink. A failing, hanging or slow sink neither stops nor delays the run: records
 * stay in the run's own store. A write that fails or times out is counted, and the count is logged when the run ends.
 *
 * @example
 * const observed = RunDirectory.layer("runs/sums").pipe(
 *   Layer.provideMerge(Sink.layer(TensorBoard.make({ folder: "runs/tensorboard", run: "sums" })))
 * )
 */
export const layer = <R>(
  sink: Sink<R>,
  options?: Patience
): Layer.Layer<never, RunStore.RunError, RunStore.RunStore | Exclude<R, Scope.Scope>> =>
  Layer.effectDiscard(attach(sink, options))

/** Sends a whole run to the sink, without abandoned records. Fails at the first record that the sink does not accept. */
export const write = Effect.fn("Sink.write")(function*<R>(sink: Sink<R>, run: RunStore.RunReader) {
  const writer = yield* sink.open(run)
  yield* Effect.forEach(yield* StoryReader.records(run), writer.write, { discard: true })
}, Effect.scoped)
