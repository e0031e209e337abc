/**
 * The program of a reinforcement learning run: in each iteration, groups are sampled as the schedule of its pace commands, credited, and
 * trained on.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { Weights } from "../backend/Weights.ts"
import type { Json } from "../records/Json.ts"
import type { RunError, RunStore } from "../records/RunStore.ts"
import type { RolloutError } from "../rollout/RolloutError.ts"
import * as Program from "../run/Program.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as Learning from "./Learning.ts"
import type * as RlOptions from "./RlOptions.ts"
import * as Dispatch from "./schedule/Dispatch.ts"
import * as Dispatcher from "./schedule/Dispatcher.ts"
import * as StreamedUpdate from "./StreamedUpdate.ts"
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
        const iterate = minibatches === undefined ? whole : StreamedUpdate.iterate(minibatches)
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
  const { iteration: own, learned } = yield* Learning.learn(options, weights, sampled, memory)
  yield* dispatcher.remember(sampled.iteration, Learning.resultsOf(sampled.groups))
  const cursor = { iteration: sampled.iteration + 1, groups, credit: yield* Ref.get(memory) }
  return [
    Program.progress(...(yield* dispatcher.begun), Learning.credited(options, learned)),
    { _tag: "Iteration", cursor, ...own }
  ]
})
