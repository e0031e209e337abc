/**
 * Asynchronous training: groups are sampled while others are trained on. As many groups are on their way or waiting as
 * `maxStepsOffPolicy + 1` iterations train on; each update takes the oldest that have ended, and its groups make room for others
 * when newer weights are published.
 *
 * @example
 * Rl.run({ model, dataset, update: { loss: Loss.ppo() }, pace: Pace.async({ maxStepsOffPolicy: 3 }) })
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Json } from "../records/Json.ts"
import * as Program from "../run/Program.ts"
import * as Collected from "./Collected.ts"
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
  Collected.collect(running.queue, iteration).pipe(
    Stream.mapEffect((element) => element._tag === "Collected" ? learn(running, element) : Effect.succeed([element])),
    Stream.flattenIterable
  )

const learn = Effect.fnUntraced(function*<E, R, CE, CR>(
  { memory, options, settings: { maxStepsOffPolicy }, weights }: Scheduled.Running<E, R, CE, CR>,
  collected: Collected.Collected
) {
  const results = collected.groups.map(({ result }) => result)
  const aside = collected.aside.flatMap(({ group }) => group.result ?? [])
  const cursor = (credit: Json): Schedule.Cursor => ({
    iteration: collected.iteration + 1,
    groups: collected.position,
    credit
  })
  const onward = { memory, cursor }
  const { credited, update } = yield* Learning.learn(options, weights, { ...collected, results }, onward, aside)
  const aged = Staleness.measure(collected, maxStepsOffPolicy)
  const report: typeof update.report = (outputs) => {
    const { metrics, ...others } = update.report(outputs)
    return { ...others, metrics: { ...metrics, ...aged } }
  }
  const notes = [...collected.begun, { entry: Staleness.annotate(credited, collected) }]
  return [Program.progress(...notes), { ...update, report }]
})
