/**
 * The program of a reinforcement learning run: in each iteration, groups are sampled as the schedule of its pace commands, credited, and
 * trained on. An update is made once all its groups have ended, or, when streaming, credited part by part, with its passes submitted while
 * the rest of its groups are still being sampled: gradients add up, so that it is the update of the whole batch up to the order of its sums.
 */
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { Weights } from "../backend/Weights.ts"
import type { GroupCredit } from "../learn/Credit.ts"
import type { TrainingDatum } from "../learn/TrainingData.ts"
import type { Json } from "../records/Json.ts"
import type { RunError, RunStore } from "../records/RunStore.ts"
import type { RolloutError } from "../rollout/RolloutError.ts"
import type * as Pass from "../run/Pass.ts"
import * as Program from "../run/Program.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as Learning from "./Learning.ts"
import type * as RlOptions from "./RlOptions.ts"
import * as Dispatch from "./schedule/Dispatch.ts"
import * as Dispatcher from "./schedule/Dispatcher.ts"
import type { TooManyDropped } from "./TooManyDropped.ts"

export type Error = TinkerError | RunError | RolloutError | InvalidOption | TooManyDropped

/** The point where a run resumes: its next iteration, its place in the dataset, and its credit's memory of earlier iterations. */
export const Cursor = Schema.Struct({ iteration: Schema.Int, groups: Dispatch.Position, credit: Schema.Json })
export interface Cursor extends Schema.Schema.Type<typeof Cursor> {}

const start: Cursor = { iteration: 0, groups: Dispatch.start.settled, credit: null }

/** A run in progress. */
export interface Running<E, R, CE, CR> {
  readonly options: RlOptions.Resolved<E, R, CE, CR>
  readonly weights: Weights
  readonly dispatcher: Dispatcher.Dispatcher<E, R>
  readonly memory: Learning.Memory
}

/** The program, by the rules of its pace unless others are given. */
export const program = <E, R, CE, CR>(
  options: RlOptions.Resolved<E, R, CE, CR>,
  rules: typeof Dispatch.rules = Dispatch.rules
): Program.Program<Cursor, E | CE | Error, R | CR | RunStore> => {
  const { dataset, identity, pace: { maxStepsOffPolicy, minibatches } } = options
  return {
    name: "rl",
    identity,
    cursor: Cursor,
    start,
    length: dataset.length,
    shortBatch: dataset.shortBatch,
    code: dataset.code,
    ahead: 0,
    evaluatesBeside: maxStepsOffPolicy > 0 || minibatches !== undefined,
    iterations: (from, weights, until) =>
      Stream.unwrap(Effect.gen(function*() {
        const dispatcher = yield* Dispatcher.make({ options, weights, from, until, rules })
        const memory = yield* Ref.make<Json>(from.credit)
        const iterate = minibatches === undefined ? whole : inParts(minibatches)
        return Stream.range(from.iteration, until - 1).pipe(
          Stream.flatMap((iteration) => iterate({ options, weights, dispatcher, memory }, iteration))
        )
      }))
  }
}

type Element<E, R> = Program.Progress | Program.Iteration<Cursor, E, R>

/** An iteration that trains once all its groups have ended: reports progress as each ends, then the update. */
const whole = <E, R, CE, CR>(running: Running<E, R, CE, CR>, iteration: number) =>
  Stream.unwrap(Effect.gen(function*() {
    const { dispatcher } = running
    const startedAt = yield* Clock.currentTimeMillis
    if (!(yield* dispatcher.publish(iteration))) return Stream.empty
    const progress = Effect.map(dispatcher.begun, (notes) => Program.progress(...notes))
    const next = Effect.gen(function*() {
      yield* dispatcher.begin
      const change = yield* dispatcher.next
      if (change._tag === "Ended") return [[yield* progress], false] as const
      const seconds = ((yield* Clock.currentTimeMillis) - startedAt) / 1000
      return [yield* update(running, { ...change, iteration, seconds }), true] as const
    })
    return Stream.fromEffect(progress).pipe(
      Stream.concat(Stream.flattenIterable(
        Stream.unfold(false, (isOver) => isOver ? Effect.undefined : next)
      ))
    )
  }))

const update = Effect.fnUntraced(function*<E, R, CE, CR>(
  { dispatcher, memory, options, weights }: Running<E, R, CE, CR>,
  { position: groups, ...sampled }: Learning.Sampled & Dispatcher.Taken
): Effect.fn.Return<ReadonlyArray<Element<TinkerError, never>>, CE | Error, CR> {
  const { iteration, learned } = yield* Learning.learn(options, weights, sampled, memory)
  yield* dispatcher.remember(sampled.iteration, Learning.resultsOf(sampled.groups))
  const cursor = { iteration: sampled.iteration + 1, groups, credit: yield* Ref.get(memory) }
  return [
    Program.progress(...(yield* dispatcher.begun), Learning.credited(options, learned)),
    {
      _tag: "Iteration",
      ...iteration,
      report: (outputs) => ({ cursor, ...Learning.report(options, learned, outputs) })
    }
  ]
})

/** Groups that are credited together. */
interface Minibatch {
  /** The optimizer step that its passes are part of. */
  readonly substep: number
  readonly groups: ReadonlyArray<Dispatcher.Group>
  readonly credits: ReadonlyArray<GroupCredit>
  readonly replayed: ReadonlyArray<TrainingDatum>
  readonly metrics: Readonly<Record<string, number>>
}

const dataOf = ({ credits }: Minibatch) => credits.flatMap(({ data }) => data)

/** Numbers of minibatches as those of their batch: means over its groups. */
const meanMetrics = (minibatches: ReadonlyArray<Minibatch>) => {
  const sums = new Map<string, { total: number; groups: number }>()
  for (const { groups: { length }, metrics } of minibatches) {
    for (const [name, value] of Object.entries(metrics)) {
      const { groups, total } = sums.get(name) ?? { total: 0, groups: 0 }
      sums.set(name, { total: total + value * length, groups: groups + length })
    }
  }
  return Object.fromEntries(Array.from(sums, ([name, { groups, total }]) => [name, total / groups]))
}

/** The groups of an update as they are taken. */
const taking = <E, R>(dispatcher: Dispatcher.Dispatcher<E, R>) => {
  let waiting: ReadonlyArray<Dispatcher.Group> = []
  let last: Pick<Dispatcher.Taken, "aside" | "position"> | undefined
  const more = Effect.map(dispatcher.next, (change) => {
    if (change._tag !== "Taken") return
    waiting = [...waiting, ...change.groups]
    if (change.isLast) last = change
  })
  return {
    /** The next groups: `count`, or fewer where the update has no more. */
    take: Effect.fnUntraced(function*(count: number) {
      while (waiting.length < count && last === undefined) yield* more
      const groups = waiting.slice(0, count)
      waiting = waiting.slice(count)
      return groups
    }),
    /** What came with the last of them. */
    rest: Effect.gen(function*() {
      while (last === undefined) yield* more
      return last
    })
  }
}

/** Iterations with `perStep` minibatches in each optimizer step. */
const inParts = (perStep: number) => <E, R, CE, CR>(running: Running<E, R, CE, CR>, iteration: number) =>
  Stream.unwrap(Effect.gen(function*() {
    const { dispatcher, memory, options, weights } = running
    const startedAt = yield* Clock.currentTimeMillis
    if (!(yield* dispatcher.publish(iteration))) return Stream.empty
    const begun = yield* dispatcher.begun
    yield* dispatcher.begin

    const parts = options.substeps * perStep
    const { rest, take } = taking(dispatcher)
    const made: Array<Minibatch> = []
    let position = Dispatch.start.settled
    let notes: ReadonlyArray<Program.Note> = []
    let learned: Learning.Learned = {
      iteration,
      groups: [],
      aside: [],
      seconds: 0,
      credits: [],
      updates: [],
      metrics: {}
    }

    const end = Effect.gen(function*() {
      const last = yield* rest
      const ofSteps = (data: (minibatch: Minibatch) => ReadonlyArray<TrainingDatum>) =>
        Array.from(
          { length: options.substeps },
          (_, step) => made.filter(({ substep }) => substep === step).flatMap(data)
        )
      position = last.position
      learned = {
        iteration,
        groups: made.flatMap(({ groups }) => groups),
        aside: last.aside,
        seconds: ((yield* Clock.currentTimeMillis) - startedAt) / 1000,
        credits: made.flatMap(({ credits }) => credits),
        updates: ofSteps(dataOf),
        ...(made.some(({ replayed }) => replayed.length > 0) && { replayed: ofSteps(({ replayed }) => replayed) }),
        metrics: meanMetrics(made)
      }
      notes = yield* dispatcher.begun
      yield* Learning.checkResults(options, learned)
    })

    /** A part has its share of a whole update, or less where that is complete before: parts depend on the number of groups alone. */
    const pass = Effect.fnUntraced(function*(substep: number, part: number) {
      const start = (part: number) => Learning.boundary(part, dispatcher.whole(), parts)
      const groups = yield* take(start(part + 1) - start(part))
      const minibatch = { substep, groups, ...(yield* Learning.credit(options, groups, memory, weights)) }
      made.push(minibatch)
      if (part === parts - 1) yield* end
      const data = [...dataOf(minibatch), ...minibatch.replayed]
      return Arr.isReadonlyArrayNonEmpty(data) ? yield* options.loss.passes([data], weights) : []
    })

    const passes = (substep: number): Stream.Stream<Pass.Pass, E | CE | Error, R | CR> =>
      Stream.range(substep * perStep, (substep + 1) * perStep - 1).pipe(
        Stream.mapEffect((part) => pass(substep, part)),
        Stream.flattenIterable
      )

    const update: Program.Iteration<Cursor, E | CE | Error, R | CR> = {
      _tag: "Iteration",
      updates: Array.from({ length: options.substeps }, (_, substep) => ({
        passes: passes(substep),
        adam: Learning.adam(options, iteration),
        tokens: undefined
      })),
      report: (outputs) => ({
        cursor: { iteration: iteration + 1, groups: position, credit: Ref.getUnsafe(memory) },
        ...Learning.report(options, learned, outputs),
        notes: [...notes, Learning.credited(options, learned)]
      })
    }
    return Stream.make(Program.progress(...begun), update)
  }))
