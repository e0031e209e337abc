/**
 * Streaming minibatches: the passes of an update are submitted while the rest of its groups are still being sampled. Groups are taken in
 * the dataset's order where none is begun ahead, and as they end otherwise; gradients add up, so that the update is that of synchronous
 * training up to the order of its sums.
 *
 * @example
 * Rl.run({ model, dataset, pace: Pace.streaming({ minibatches: 4 }) })
 */
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import * as Adam from "../learn/Adam.ts"
import * as Program from "../run/Program.ts"
import * as GroupQueue from "./GroupQueue.ts"
import * as Learning from "./Learning.ts"
import * as Minibatches from "./Minibatches.ts"
import * as Schedule from "./Schedule.ts"
import * as Scheduled from "./Scheduled.ts"
import type { Error } from "./Synchronous.ts"

/** The program: with groups begun ahead it is asynchronous as well. */
export const program = <E, R, CE, CR>(
  options: Scheduled.Options<E, R, CE, CR>,
  settings: Scheduled.Settings,
  rules: typeof Schedule.rules = Schedule.rules
) => Scheduled.program(options, settings, rules, iterate)

/** An iteration whose passes are made as groups end. */
const iterate = <E, R, CE, CR>(running: Scheduled.Running<E, R, CE, CR>, iteration: number) =>
  Stream.unwrap(Effect.gen(function*() {
    const { memory, options, queue } = running
    yield* queue.publish(iteration)
    if (yield* queue.isOver) return Stream.empty
    const begun = Program.progress(...GroupQueue.begun(iteration, yield* queue.wave))
    const minibatches = yield* Minibatches.make(running, iteration)
    const adam = Adam.params(options.adam, Learning.learningRate(options, iteration))
    const update: Program.Iteration<Schedule.Cursor, E | CE | Error, R | CR> = {
      _tag: "Iteration",
      updates: Array.from({ length: options.substeps }, (_, substep) => ({
        passes: minibatches.passes(substep),
        adam,
        tokens: undefined
      })),
      get cursor() {
        return { iteration: iteration + 1, groups: queue.position(), credit: Ref.getUnsafe(memory) }
      },
      report: minibatches.report
    }
    return Stream.concat(Stream.make(begun), Stream.fromEffect(Effect.as(queue.begin, update)))
  }))
