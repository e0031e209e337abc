/** The batches of one iteration, rolled out with the newest weights: one, or as many as dynamic sampling takes. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { Weights } from "../backend/Weights.ts"
import type { History } from "../data/History.ts"
import * as Policy from "../policy/Policy.ts"
import type { GroupResult } from "../rollout/GroupResult.ts"
import * as Rollout from "../rollout/Rollout.ts"
import type { RolloutError } from "../rollout/RolloutError.ts"
import * as Program from "../run/Program.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as Batch from "./Batch.ts"
import * as DynamicSampling from "./DynamicSampling.ts"
import type * as Learning from "./Learning.ts"
import type * as RlOptions from "./RlOptions.ts"

/** The groups of an iteration, in the dataset's order, and the batch after them. */
export interface Sampled extends Learning.Sampled {
  readonly _tag: "Sampled"
  readonly next: number
}

/** An iteration with the first batch that it takes, and how earlier batches went. */
export interface Place {
  readonly iteration: number
  readonly first: number
  readonly history: History
}

/** Rolls out an iteration's batches: an element for each group that finished, and all of them at the end. */
export const sample = <E, R, CE, CR>(
  options: RlOptions.Resolved<E, R, CE, CR>,
  weights: Weights,
  { first, history, iteration }: Place
) =>
  Stream.unwrap(Effect.gen(function*() {
    const { dataset, dynamic, rollout, sampling, seed } = options
    const startedAt = yield* Clock.currentTimeMillis
    const { client, step } = yield* weights.sampler
    const policy = Policy.fromSamplingClient(client, sampling)

    const draw = (count: number, before: ReadonlyArray<GroupResult>): Stream.Stream<
      Program.Progress | Sampled,
      E | TinkerError | RolloutError | InvalidOption,
      R
    > =>
      Stream.unwrap(Effect.gen(function*() {
        const drawn = yield* dataset.batch(first + count, seed, history)
        const builders = drawn.map((builder) => DynamicSampling.rekeyed(builder, count))
        const rollouts = Rollout.stream(builders, policy, {
          ...rollout,
          seed,
          unordered: true,
          iteration,
          samplerStep: step
        })
        const onward = Effect.fnUntraced(function*(finished: ReadonlyArray<GroupResult>) {
          const results = [...before, ...Batch.inOrder(finished, builders.map(({ key }) => key))]
          const next = first + count + 1
          if (next < dataset.length && DynamicSampling.needsMore(dynamic, results, count + 1)) {
            return draw(count + 1, results)
          }
          const now = yield* Clock.currentTimeMillis
          return Stream.succeed<Sampled>({
            _tag: "Sampled",
            iteration,
            results,
            seconds: (now - startedAt) / 1000,
            next
          })
        })
        return Stream.concat(
          Stream.make(Program.progress({ entry: { _tag: "Sampling", iteration, step, groups: builders.length } })),
          collect(rollouts, onward)
        )
      }))

    return first < dataset.length ? draw(0, []) : Stream.empty
  }))

/** A progress element for each group, and at the end what `onward` makes of all of them. */
const collect = <E, R, A, E2, R2>(
  rollouts: Stream.Stream<GroupResult, E, R>,
  onward: (results: ReadonlyArray<GroupResult>) => Effect.Effect<Stream.Stream<A, E2, R2>>
) =>
  Stream.suspend(() => {
    const results: Array<GroupResult> = []
    return rollouts.pipe(
      Stream.map((result): Program.Progress | A => {
        results.push(result)
        return Program.progress()
      }),
      Stream.concat(Stream.unwrap(Effect.suspend(() => onward(results))))
    )
  })
