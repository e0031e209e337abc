/** The minibatches of a streamed iteration: its groups as they end, credited part by part. */
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import type { GroupCredit } from "../learn/Credit.ts"
import type { TrainingDatum } from "../learn/TrainingData.ts"
import type * as Pass from "../run/Pass.ts"
import type * as Program from "../run/Program.ts"
import * as Batch from "./Batch.ts"
import * as GroupQueue from "./GroupQueue.ts"
import * as Learning from "./Learning.ts"
import type * as Scheduled from "./Scheduled.ts"
import * as Staleness from "./Staleness.ts"
import type { Error } from "./Synchronous.ts"

/** Groups that were credited together. */
interface Minibatch {
  readonly substep: number
  readonly taken: ReadonlyArray<GroupQueue.Ended>
  readonly groups: ReadonlyArray<GroupCredit>
  readonly metrics: Readonly<Record<string, number>>
}

const dataOf = ({ groups }: Minibatch): ReadonlyArray<TrainingDatum> => groups.flatMap(({ data }) => data)

/** Numbers of minibatches as those of their batch: means over its groups. */
const meanMetrics = (minibatches: ReadonlyArray<Minibatch>) => {
  const sums = new Map<string, { total: number; groups: number }>()
  for (const { metrics, taken } of minibatches) {
    for (const [name, value] of Object.entries(metrics)) {
      const { groups, total } = sums.get(name) ?? { total: 0, groups: 0 }
      sums.set(name, { total: total + value * taken.length, groups: groups + taken.length })
    }
  }
  return Object.fromEntries(Array.from(sums, ([name, { groups, total }]) => [name, total / groups]))
}

/** The passes of an iteration's optimizer steps, and its report when they are done. */
export const make = Effect.fnUntraced(function*<E, R, CE, CR>(
  { memory, options, queue, settings: { maxStepsOffPolicy, minibatches: perStep = 1 }, weights }: Scheduled.Running<
    E,
    R,
    CE,
    CR
  >,
  iteration: number
) {
  const startedAt = yield* Clock.currentTimeMillis
  const parts = options.substeps * perStep
  const made: Array<Minibatch> = []
  let aside: ReadonlyArray<GroupQueue.Aside> = []
  let wave: GroupQueue.Wave = { step: 0, groups: [] }
  let taken = 0
  let seconds = 0

  /** What the passes of an optimizer step were made of. */
  const dataIn = (substep: number) => made.filter((minibatch) => minibatch.substep === substep).flatMap(dataOf)
  const resultsOf = (groups: ReadonlyArray<{ readonly result?: GroupQueue.Ended["result"] }>) =>
    groups.flatMap(({ result }) => result ?? [])
  const all = () => made.flatMap(({ taken }) => taken)
  const results = () => resultsOf(all())
  const discarded = () => resultsOf(aside.map(({ group }) => group))

  /** Fewer than the part's share of a whole update where that is complete before: the parts depend on the number of its groups alone. */
  const take = Effect.fnUntraced(function*(part: number) {
    const groups: Array<GroupQueue.Ended> = []
    const until = Math.trunc(((part + 1) * (yield* queue.whole)) / parts)
    while (taken < until && !(yield* queue.isComplete)) {
      const group = yield* queue.takeNext
      if (group === undefined) {
        yield* queue.begin
        yield* queue.changed
      } else {
        groups.push(group)
        taken++
      }
    }
    return groups
  })

  const pass = Effect.fnUntraced(function*(substep: number, part: number) {
    const taken = yield* take(part)
    const assigned = yield* options.credit.assign(resultsOf(taken), yield* Ref.get(memory))
    yield* Ref.set(memory, assigned.memory)
    const minibatch = { substep, taken, groups: Batch.trainable(assigned.groups), metrics: assigned.metrics }
    made.push(minibatch)
    if (part === parts - 1) yield* end
    const data = dataOf(minibatch)
    return Arr.isReadonlyArrayNonEmpty(data) ? yield* options.loss.passes([data], weights) : []
  })

  const end = Effect.gen(function*() {
    aside = yield* queue.aside
    wave = yield* queue.wave
    seconds = ((yield* Clock.currentTimeMillis) - startedAt) / 1000
    yield* Learning.checkResults(options, { iteration, results: [...results(), ...discarded()] })
  })

  const passes = (substep: number): Stream.Stream<Pass.Pass, E | CE | Error, R | CR> =>
    Stream.range(substep * perStep, (substep + 1) * perStep - 1).pipe(
      Stream.mapEffect((part) => pass(substep, part)),
      Stream.flattenIterable
    )

  const report = (outputs: ReadonlyArray<Program.UpdateOutput>): Program.Report => {
    const groups = made.flatMap(({ groups }) => groups)
    const updates = Array.from({ length: options.substeps }, (_, substep) => dataIn(substep))
    const aged = { iteration, groups: all(), aside }
    const metrics = { ...meanMetrics(made), ...Staleness.measure(aged, maxStepsOffPolicy) }
    const learned = {
      iteration,
      results: results(),
      aside: discarded(),
      seconds,
      groups,
      data: updates.flat(),
      metrics
    }
    const reported = Learning.report(options, learned, outputs)
    return {
      ...reported,
      notes: [
        ...GroupQueue.begun(iteration, wave),
        { entry: Staleness.annotate(Batch.credited(iteration, groups, updates), aged) },
        ...reported.notes ?? []
      ]
    }
  }

  return { passes, dataIn, report }
})
