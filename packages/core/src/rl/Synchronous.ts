/** Synchronous, on-policy training: sample a batch with the newest weights, credit it, update, repeat. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { Weights } from "../backend/Weights.ts"
import * as Policy from "../policy/Policy.ts"
import type { InvalidOption } from "../record/InvalidOption.ts"
import type { Json } from "../record/Json.ts"
import type { RunError, RunStore } from "../record/RunStore.ts"
import type { GroupResult } from "../rollout/GroupResult.ts"
import * as Rollout from "../rollout/Rollout.ts"
import type { RolloutError } from "../rollout/RolloutError.ts"
import * as Program from "../run/Program.ts"
import * as Batch from "./Batch.ts"
import * as Cursor from "./Cursor.ts"
import * as DynamicSampling from "./DynamicSampling.ts"
import * as Learning from "./Learning.ts"
import * as Outcomes from "./Outcomes.ts"
import type * as RlOptions from "./RlOptions.ts"
import type { TooManyDropped } from "./TooManyDropped.ts"

export type Error = TinkerError | RunError | RolloutError | InvalidOption | TooManyDropped

type Options<E, R, CE, CR> = RlOptions.Resolved<E, R, CE, CR>

/** The groups of an iteration, in the dataset's order, and the batch after them. */
interface Sampled extends Learning.Sampled {
  readonly _tag: "Sampled"
  readonly next: number
}

/** What the iterations of a program share. */
interface Progress {
  readonly batch: Ref.Ref<number>
  readonly memory: Learning.Memory
  readonly outcomes: Outcomes.Tracker
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
  iterations: ({ batch, credit, iteration }, weights) =>
    Stream.unwrap(Effect.gen(function*() {
      const progress: Progress = {
        batch: yield* Ref.make(batch),
        memory: yield* Ref.make<Json>(credit),
        outcomes: yield* Outcomes.tracker(options.dataset, iteration)
      }
      return Stream.range(iteration, options.dataset.length - 1).pipe(
        Stream.flatMap((iteration) => sample(options, weights, iteration, progress)),
        Stream.mapEffect((element) =>
          element._tag === "Sampled" ? learn(options, weights, element, progress) : Effect.succeed([element])
        ),
        Stream.flattenIterable
      )
    }))
})

/** Rolls out an iteration's batches: an element for each group that finished, and all of them at the end. */
const sample = <E, R, CE, CR>(
  options: Options<E, R, CE, CR>,
  weights: Weights,
  iteration: number,
  { batch, outcomes }: Progress
) =>
  Stream.unwrap(Effect.gen(function*() {
    const { dataset, dynamic, rollout, sampling, seed } = options
    const startedAt = yield* Clock.currentTimeMillis
    const first = yield* Ref.get(batch)
    const history = yield* outcomes.history
    const { client, step } = yield* weights.sampler
    const policy = Policy.fromSamplingClient(client, sampling)

    const draw = (count: number, before: ReadonlyArray<GroupResult>): Stream.Stream<
      Program.Progress | Sampled,
      E | Error,
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

const learn = Effect.fnUntraced(function*<E, R, CE, CR>(
  options: Options<E, R, CE, CR>,
  weights: Weights,
  sampled: Sampled,
  { batch, memory, outcomes }: Progress
) {
  const { iteration, next, results } = sampled
  const { credited, update } = yield* Learning.learn(options, weights, sampled, {
    memory,
    cursor: (credit) => ({ iteration: iteration + 1, batch: next, credit })
  })
  yield* Ref.set(batch, next)
  yield* outcomes.add(iteration, results)
  return [Program.progress({ entry: credited }), update]
})
