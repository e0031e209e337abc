/** What asynchronous and streaming training share: groups begin and are taken by the rules of a schedule. */
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import type { Weights } from "../backend/Weights.ts"
import type { Json } from "../records/Json.ts"
import type { RunStore } from "../records/RunStore.ts"
import type * as Program from "../run/Program.ts"
import * as DynamicSampling from "./DynamicSampling.ts"
import * as GroupQueue from "./GroupQueue.ts"
import type * as Learning from "./Learning.ts"
import type * as Pace from "./Pace.ts"
import * as RecordedSchedule from "./RecordedSchedule.ts"
import type * as RlOptions from "./RlOptions.ts"
import * as Schedule from "./Schedule.ts"
import type { Error } from "./Synchronous.ts"

export type Options<E, R, CE, CR> = RlOptions.Resolved<E, R, CE, CR>
export type Settings = Pace.Resolved

/** A run whose groups come from a queue. */
export interface Running<E, R, CE, CR> {
  readonly options: Options<E, R, CE, CR>
  readonly settings: Settings
  readonly weights: Weights
  readonly queue: GroupQueue.GroupQueue<E, R>
  readonly memory: Learning.Memory
}

/** How an iteration makes its update of the groups of the queue; nothing where no group is left. */
export type Iterate<E, R, CE, CR> = (
  running: Running<E, R, CE, CR>,
  iteration: number
) => Stream.Stream<
  Program.Progress | Program.Iteration<Schedule.Cursor, E | CE | Error, R | CR>,
  E | CE | Error,
  R | CR
>

/** The program, by the rules of a schedule. */
export const program = <E, R, CE, CR>(
  options: Options<E, R, CE, CR>,
  settings: Settings,
  rules: typeof Schedule.rules,
  iterate: Iterate<E, R, CE, CR>
): Program.Program<Schedule.Cursor, E | CE | Error, R | CR | RunStore> => ({
  name: "rl",
  identity: options.identity,
  cursor: Schedule.Cursor,
  start: Schedule.start,
  length: options.dataset.length,
  shortBatch: options.dataset.shortBatch,
  code: options.dataset.code,
  ahead: 0,
  evaluatesBeside: settings.maxStepsOffPolicy > 0 || settings.minibatches !== undefined,
  iterations: (from, weights, until) =>
    Stream.unwrap(Effect.gen(function*() {
      const recorded = yield* RecordedSchedule.read
      const isFiltering = settings.removeConstantRewardGroups || DynamicSampling.isOn(options.dynamic)
      const pace = { ...settings, removeConstantRewardGroups: isFiltering }
      const queue = yield* GroupQueue.make({ options, rules: rules(pace, until), weights, from, recorded })
      const memory = yield* Ref.make<Json>(from.credit)
      return Stream.range(from.iteration, until - 1).pipe(
        Stream.flatMap((iteration) => iterate({ options, settings, weights, queue, memory }, iteration))
      )
    }))
})
