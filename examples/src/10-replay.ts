// A custom algorithm: rejection sampling with a replay buffer. The members that solve a problem are imitated at once and again in later
// iterations, from a buffer that is saved with the checkpoints, so a resumed run continues exactly.
import { type Credit, RunStore } from "@effect-rl/core"
import { Seed } from "@effect-rl/core/environments"
import { StoredDatum, type TrainingData } from "@effect-rl/core/program"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect, Schema } from "effect"
import { layer, train } from "./09-own-backend.ts"

/** The buffer, and `inner`, the memory of the wrapped credit. */
const Memory = Schema.Struct({ inner: Schema.Json, buffer: Schema.Array(StoredDatum.StoredDatum) })

const imitates = ({ inputs }: TrainingData.TrainingDatum) => inputs.advantages.some((advantage) => advantage > 0)

/**
 * Each iteration also trains on up to `count` datums, drawn with replacement from the newest `capacity` datums of earlier iterations that
 * have a positive advantage. The iteration's number seeds the draw.
 */
export const replay =
  ({ capacity, count }: { readonly capacity: number; readonly count: number }) =>
  <E, R>(credit: Credit.Credit<E, R>): Credit.Credit<E, R> => ({
    name: "replay",
    config: { credit: { name: credit.name, ...credit.config }, capacity, count },
    assign: Effect.fnUntraced(function*(groups, memory, weights) {
      const { buffer, inner } = memory === null
        ? { buffer: [], inner: null }
        : yield* Effect.orDie(Schema.decodeUnknownEffect(Memory)(memory))
      const assigned = yield* credit.assign(groups, inner, weights)
      const fresh = assigned.groups.flatMap(({ data }) => data.filter(imitates))
      const next = Seed.uniform(Seed.derive(0, groups[0]?.iteration ?? 0))
      const replayed = Array.from(
        { length: Math.min(count, buffer.length) },
        () => buffer[Math.floor(next() * buffer.length)]
      ).filter((datum) => datum !== undefined)
      const kept = { inner: assigned.memory, buffer: [...buffer, ...fresh].slice(-capacity) }
      return { ...assigned, replayed, memory: yield* Effect.orDie(Schema.encodeEffect(Memory)(kept)) }
    })
  })

if (import.meta.main) {
  train(20, replay({ capacity: 400, count: 100 })).pipe(
    Effect.provide([layer, RunStore.RunStore.layerMemory]),
    NodeRuntime.runMain
  )
}
