/** Synchronous, on-policy training: sample a batch with the newest weights, credit it, update, repeat. */
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { Weights } from "../backend/Weights.ts"
import type { Json } from "../records/Json.ts"
import type { RunError, RunStore } from "../records/RunStore.ts"
import type { RolloutError } from "../rollout/RolloutError.ts"
import * as Program from "../run/Program.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as Cursor from "./Cursor.ts"
import * as Learning from "./Learning.ts"
import * as Outcomes from "./Outcomes.ts"
import type * as RlOptions from "./RlOptions.ts"
import * as SampledBatches from "./SampledBatches.ts"
import type { TooManyDropped } from "./TooManyDropped.ts"

export type Error = TinkerError | RunError | RolloutError | InvalidOption | TooManyDropped

type Options<E, R, CE, CR> = RlOptions.Resolved<E, R, CE, CR>

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
  shortBatch: options.dataset.shortBatch,
  code: options.dataset.code,
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

const sample = <E, R, CE, CR>(
  options: Options<E, R, CE, CR>,
  weights: Weights,
  iteration: number,
  { batch, outcomes }: Progress
) =>
  Stream.unwrap(Effect.map(
    Effect.all({ first: Ref.get(batch), history: outcomes.history }),
    (place) => SampledBatches.sample(options, weights, { iteration, ...place })
  ))

const learn = Effect.fnUntraced(function*<E, R, CE, CR>(
  options: Options<E, R, CE, CR>,
  weights: Weights,
  sampled: SampledBatches.Sampled,
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
