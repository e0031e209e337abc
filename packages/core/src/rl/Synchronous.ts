/** Synchronous, on-policy training: sample a batch with the newest weights, credit it, update, repeat. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { Weights } from "../backend/Weights.ts"
import * as Policy from "../policy/Policy.ts"
import * as SamplingSettings from "../policy/SamplingSettings.ts"
import type { InvalidOption } from "../record/InvalidOption.ts"
import type { Json } from "../record/Json.ts"
import type { RunError, RunStore } from "../record/RunStore.ts"
import type { GroupResult } from "../rollout/GroupResult.ts"
import * as Rollout from "../rollout/Rollout.ts"
import type { RolloutError } from "../rollout/RolloutError.ts"
import * as Program from "../run/Program.ts"
import * as Batch from "./Batch.ts"
import * as Cursor from "./Cursor.ts"
import * as Learning from "./Learning.ts"
import * as Outcomes from "./Outcomes.ts"
import type * as RlOptions from "./RlOptions.ts"
import type { TooManyDropped } from "./TooManyDropped.ts"

export type Error = TinkerError | RunError | RolloutError | InvalidOption | TooManyDropped

type Options<E, R, CE, CR> = RlOptions.Resolved<E, R, CE, CR>

/** A batch of groups, in the dataset's order. */
interface Sampled extends Learning.Sampled {
  readonly _tag: "Sampled"
}

/** The program. */
export const program = <E, R, CE, CR>(
  options: Options<E, R, CE, CR>
): Program.Program<Cursor.Cursor, E | CE | Error, R | CR | RunStore> => ({
  name: "rl",
  identity: options.identity,
  cursor: Cursor.Cursor,
  start: Cursor.start,
  length: options.dataset.length,
  ahead: 0,
  iterations: ({ batch, credit }, weights) =>
    Stream.unwrap(Effect.gen(function*() {
      const outcomes = yield* Outcomes.tracker(options.dataset, batch)
      const memory = yield* Ref.make<Json>(credit)
      return Stream.range(batch, options.dataset.length - 1).pipe(
        Stream.flatMap((iteration) => sample(options, weights, iteration, outcomes)),
        Stream.mapEffect((element) =>
          element._tag === "Sampled"
            ? Effect.tap(learn(options, element, memory), () => outcomes.add(element.iteration, element.results))
            : Effect.succeed([element])
        ),
        Stream.flattenIterable
      )
    }))
})

/** Rolls out a batch: an element for each group that finished, and the whole batch at the end. */
const sample = <E, R, CE, CR>(
  { dataset, rollout, sampling, seed }: Options<E, R, CE, CR>,
  weights: Weights,
  iteration: number,
  outcomes: Outcomes.Tracker
) =>
  Stream.unwrap(Effect.gen(function*() {
    const startedAt = yield* Clock.currentTimeMillis
    const { client, step } = yield* weights.sampler
    const builders = yield* dataset.batch(iteration, seed, yield* outcomes.history)
    const policy = Policy.fromSamplingClient(client, SamplingSettings.options(sampling, seed))
    const sampled = (results: ReadonlyArray<GroupResult>) =>
      Effect.map(Clock.currentTimeMillis, (now): Sampled => ({
        _tag: "Sampled",
        iteration,
        results: Batch.inOrder(results, builders.map(({ key }) => key)),
        seconds: (now - startedAt) / 1000
      }))
    const rollouts = Rollout.stream(builders, policy, {
      ...rollout,
      seed,
      unordered: true,
      iteration,
      samplerStep: step
    })
    return Stream.make(Program.progress({ entry: { _tag: "Sampling", iteration, step, groups: builders.length } }))
      .pipe(
        Stream.concat(collect(rollouts, sampled))
      )
  }))

/** A progress element for each group, and at the end what `finish` makes of all of them. */
const collect = <E, R, A>(
  rollouts: Stream.Stream<GroupResult, E, R>,
  finish: (results: ReadonlyArray<GroupResult>) => Effect.Effect<A>
) =>
  Stream.suspend(() => {
    const results: Array<GroupResult> = []
    return rollouts.pipe(
      Stream.map((result): Program.Progress | A => {
        results.push(result)
        return Program.progress()
      }),
      Stream.concat(Stream.fromEffect(Effect.suspend(() => finish(results))))
    )
  })

const learn = <E, R, CE, CR>(options: Options<E, R, CE, CR>, sampled: Sampled, memory: Learning.Memory) =>
  Effect.map(
    Learning.learn(options, sampled, { memory, cursor: (credit) => ({ batch: sampled.iteration + 1, credit }) }),
    ({ credited, update }) => [Program.progress({ entry: credited }), update]
  )
