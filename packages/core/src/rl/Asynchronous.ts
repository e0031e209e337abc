/**
 * Asynchronous training: groups are sampled while others are trained on. As many groups are on their way or waiting as
 * `maxStepsOffPolicy + 1` iterations train on; each update takes the oldest that have ended, and its groups make room for others
 * when newer weights are published.
 *
 * @example
 * Rl.run({ model, dataset, pace: Pace.async({ maxStepsOffPolicy: 3 }) })
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Json } from "../record/Json.ts"
import * as Program from "../run/Program.ts"
import * as GroupQueue from "./GroupQueue.ts"
import * as Learning from "./Learning.ts"
import * as Schedule from "./Schedule.ts"
import * as Scheduled from "./Scheduled.ts"
import * as Staleness from "./Staleness.ts"

/** The program, by the rules of a schedule. */
export const program = <E, R, CE, CR>(
  options: Scheduled.Options<E, R, CE, CR>,
  settings: Scheduled.Settings,
  rules: typeof Schedule.rules = Schedule.rules
) => Scheduled.program(options, settings, rules, iterate)

/** An iteration that submits its passes when all its groups are there. */
const iterate = <E, R, CE, CR>(running: Scheduled.Running<E, R, CE, CR>, iteration: number) =>
  collect(running.queue, iteration).pipe(
    Stream.mapEffect((element) => element._tag === "Sampled" ? learn(running, element) : Effect.succeed([element])),
    Stream.flattenIterable
  )

/** The groups of one update, and where the run goes on after it. */
interface Sampled extends Staleness.Aged {
  readonly _tag: "Sampled"
  /** The record of groups that have begun since the last one. */
  readonly begun: ReadonlyArray<Program.Note>
  readonly seconds: number
  readonly position: Schedule.Position
}

/** What is emitted, and whether it is the last of its iteration. */
type Next = readonly [Program.Progress | Sampled, boolean]

/** Begins groups with the newest weights: an element whenever a group has ended, and the update's groups when they are there. */
const collect = <E, R>(queue: GroupQueue.GroupQueue<E, R>, iteration: number) =>
  Stream.unwrap(Effect.gen(function*() {
    const startedAt = yield* Clock.currentTimeMillis
    yield* queue.publish(iteration)
    if (yield* queue.isOver) return Stream.empty
    const begun = Effect.map(queue.wave, (wave) => GroupQueue.begun(iteration, wave))
    const progress = Effect.map(begun, (notes) => Program.progress(...notes))
    const sampled = Effect.fnUntraced(function*(groups: ReadonlyArray<GroupQueue.Ended>) {
      const seconds = ((yield* Clock.currentTimeMillis) - startedAt) / 1000
      const sampled: Sampled = {
        _tag: "Sampled",
        iteration,
        groups,
        aside: yield* queue.aside,
        begun: yield* begun,
        seconds,
        position: queue.position()
      }
      return sampled
    })
    const next = Effect.gen(function*(): Effect.fn.Return<Next, GroupQueue.Error<E>, R> {
      yield* queue.begin
      const groups = yield* queue.takeAll
      if (groups !== undefined) return [yield* sampled(groups), true]
      yield* queue.changed
      return [yield* progress, false]
    })
    return Stream.concat(
      Stream.fromEffect(progress),
      Stream.unfold(false, (isTaken) => isTaken ? Effect.undefined : next)
    )
  }))

const learn = Effect.fnUntraced(function*<E, R, CE, CR>(
  { memory, options, settings: { maxStepsOffPolicy }, weights }: Scheduled.Running<E, R, CE, CR>,
  sampled: Sampled
) {
  const results = sampled.groups.map(({ result }) => result)
  const aside = sampled.aside.flatMap(({ group }) => group.result ?? [])
  const cursor = (credit: Json): Schedule.Cursor => ({
    iteration: sampled.iteration + 1,
    groups: sampled.position,
    credit
  })
  const onward = { memory, cursor }
  const { credited, update } = yield* Learning.learn(options, weights, { ...sampled, results }, onward, aside)
  const aged = Staleness.measure(sampled, maxStepsOffPolicy)
  const report: typeof update.report = (outputs) => {
    const { metrics, ...others } = update.report(outputs)
    return { ...others, metrics: { ...metrics, ...aged } }
  }
  const notes = [...sampled.begun, { entry: Staleness.annotate(credited, sampled) }]
  return [Program.progress(...notes), { ...update, report }]
})
