/** The retention of snapshots of weights, because clients do not say when they are done with one. */
import type { TinkerError } from "@effect-rl/core"
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import type { ClientSession, Sampler } from "./ClientSession.ts"

/** The newest of a model stay, older ones while they are used. */
const newest = 16
const oldMillis = 30 * 60_000

/** A snapshot that was used more recently may be used again soon. */
const idleMillis = 60_000

const dropped = Metric.counter("tinker_server_snapshots_dropped", {
  description: "Snapshots of weights that were dropped before their session ended, by reason",
  incremental: true
})

export interface Snapshots {
  /** Drops those that were not used for half an hour, but for the newest 16 of each model. */
  readonly dropOld: Effect.Effect<void>
  /** Whether the failure is for want of memory and a snapshot was dropped, so that another attempt may succeed. */
  readonly makeRoom: (error: TinkerError.TinkerError) => Effect.Effect<boolean>
  /** Whether a snapshot of the session was dropped. */
  readonly makeRoomIn: (session: ClientSession) => Effect.Effect<boolean>
}

/** Snapshots of each model, oldest first, without the newest `kept`. */
const older = (samplers: Iterable<Sampler>, kept: number): ReadonlyArray<Sampler> =>
  Object.values(
    Arr.groupBy([...samplers].filter(({ snapshotOf }) => snapshotOf !== undefined), ({ snapshotOf = "" }) => snapshotOf)
  ).flatMap((ofModel) => ofModel?.slice(0, -kept) ?? [])

const unused = (samplers: ReadonlyArray<Sampler>, now: number, millis: number) =>
  samplers.filter(({ lastUsedAt, running }) => running === 0 && now - lastUsedAt > millis)

/** The retention of `samplers`, which come oldest first and are dropped by `close`. */
export const make = (
  samplers: () => Iterable<Sampler>,
  close: (sampler: Sampler) => Effect.Effect<void>
): Snapshots => {
  const drop = (reason: "memory" | "age") => (sampler: Sampler) =>
    Effect.andThen(close(sampler), Metric.update(Metric.withAttributes(dropped, { reason }), 1))

  /** Drops the one that was not used for longest, where there is one to drop. */
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
