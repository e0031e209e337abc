/** Decides which weight snapshots to keep, because clients do not report when they no longer need one. */
import type { TinkerError } from "@effect-rl/core"
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import type { ClientSession, Sampler } from "./ClientSession.ts"

/** How many of a model's newest snapshots are exempt from dropping by age. */
const newest = 16
const oldMillis = 30 * 60_000

/** A snapshot used within this time is likely to be used again soon. */
const idleMillis = 60_000

const dropped = Metric.counter("tinker_server_snapshots_dropped", {
  description: "Snapshots of weights that were dropped before their session ended, by reason",
  incremental: true
})

export interface Snapshots {
  /** Drops snapshots unused for half an hour, except each model's newest 16. */
  readonly dropOld: Effect.Effect<void>
  /** Drops a snapshot if the failure was a lack of memory. Returns whether it did, so another attempt may succeed. */
  readonly makeRoom: (error: TinkerError.TinkerError) => Effect.Effect<boolean>
  /** Drops a snapshot of the session. Returns whether there was one to drop. */
  readonly makeRoomIn: (session: ClientSession) => Effect.Effect<boolean>
}

/** Each model's snapshots, oldest first, without the newest `kept`. */
const older = (samplers: Iterable<Sampler>, kept: number): ReadonlyArray<Sampler> =>
  Object.values(
    Arr.groupBy([...samplers].filter(({ snapshotOf }) => snapshotOf !== undefined), ({ snapshotOf = "" }) => snapshotOf)
  ).flatMap((ofModel) => ofModel?.slice(0, -kept) ?? [])

const unused = (samplers: ReadonlyArray<Sampler>, now: number, millis: number) =>
  samplers.filter(({ lastUsedAt, running }) => running === 0 && now - lastUsedAt > millis)

/** Manages the snapshots among `samplers`, which are ordered oldest first. `close` drops one. */
export const make = (
  samplers: () => Iterable<Sampler>,
  close: (sampler: Sampler) => Effect.Effect<void>
): Snapshots => {
  const drop = (reason: "memory" | "age") => (sampler: Sampler) =>
    Effect.andThen(close(sampler), Metric.update(Metric.withAttributes(dropped, { reason }), 1))

  /** Drops the least recently used snapshot, if one can be dropped. */
  const dropLeast = Effect.fnUntraced(function*(all: ReadonlyArray<Sampler>, because: string) {
    const now = yield* Clock.currentTimeMillis
    const [first, ...others] = unused(older(all, 1), now, idleMillis)
    if (first === undefined) return false
    const least = others.reduce((least, one) => one.lastUsedAt < least.lastUsedAt ? one : least, first)
    yield* drop("memory")(least)
    yield* Effect.logWarning(`the snapshot ${least.id} of ${least.snapshotOf} is dropped: ${because}`)
    return true
  })

  return {
    dropOld: Effect.flatMap(
      Clock.currentTimeMillis,
      (now) => Effect.forEach(unused(older(samplers(), newest), now, oldMillis), drop("age"), { discard: true })
    ),
    makeRoom: ({ reason }) =>
      reason._tag === "Unavailable" && reason.lacks === "memory"
        ? dropLeast([...samplers()], "the memory is full")
        : Effect.succeed(false),
    makeRoomIn: (session) =>
      dropLeast([...samplers()].filter((one) => one.session === session), "the quota of its session is used up")
  }
}
