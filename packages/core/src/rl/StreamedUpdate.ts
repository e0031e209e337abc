/**
 * An update whose passes are submitted while the rest of its groups are still being sampled, credited part by part. Gradients add up, so
 * that it is the update of the whole batch up to the order of its sums.
 */
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import type { GroupCredit } from "../learn/Credit.ts"
import type { TrainingDatum } from "../learn/TrainingData.ts"
import type * as Pass from "../run/Pass.ts"
import * as Program from "../run/Program.ts"
import * as Learning from "./Learning.ts"
import * as Dispatch from "./schedule/Dispatch.ts"
import type * as Dispatcher from "./schedule/Dispatcher.ts"
import type * as Training from "./Training.ts"

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
export const iterate =
  (perStep: number) => <E, R, CE, CR>(running: Training.Running<E, R, CE, CR>, iteration: number) =>
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
        const boundary = (part: number) => Math.trunc((part * dispatcher.whole()) / parts)
        const groups = yield* take(boundary(part + 1) - boundary(part))
        const minibatch = { substep, groups, ...(yield* Learning.credit(options, groups, memory, weights)) }
        made.push(minibatch)
        if (part === parts - 1) yield* end
        const data = [...dataOf(minibatch), ...minibatch.replayed]
        return Arr.isReadonlyArrayNonEmpty(data) ? yield* options.loss.passes([data], weights) : []
      })

      const passes = (substep: number): Stream.Stream<Pass.Pass, E | CE | Training.Error, R | CR> =>
        Stream.range(substep * perStep, (substep + 1) * perStep - 1).pipe(
          Stream.mapEffect((part) => pass(substep, part)),
          Stream.flattenIterable
        )

      const update: Program.Iteration<Training.Cursor, E | CE | Training.Error, R | CR> = {
        _tag: "Iteration",
        updates: Array.from({ length: options.substeps }, (_, substep) => ({
          passes: passes(substep),
          adam: Learning.adam(options, iteration),
          tokens: undefined
        })),
        get cursor() {
          return { iteration: iteration + 1, groups: position, credit: Ref.getUnsafe(memory) }
        },
        report: (outputs) => ({
          ...Learning.report(options, learned, outputs),
          notes: [...notes, Learning.credited(options, learned)]
        })
      }
      return Stream.make(Program.progress(...begun), update)
    }))
