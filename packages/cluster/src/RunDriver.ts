/**
 * The driver of a run: one of the cluster's runners takes the run over and drives it to its end. Where that runner is lost, another one goes
 * on from the run's records. A driver that was only paused is refused its writes, and ends.
 */
import type { RunStore } from "@effect-rl/core"
import * as Cause from "effect/Cause"
import * as ClusterSchema from "effect/cluster/ClusterSchema"
import * as Entity from "effect/cluster/Entity"
import * as EntityAddress from "effect/cluster/EntityAddress"
import * as EntityId from "effect/cluster/EntityId"
import * as MessageStorage from "effect/cluster/MessageStorage"
import * as Sharding from "effect/cluster/Sharding"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Predicate from "effect/Predicate"
import * as Rpc from "effect/rpc/Rpc"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { createHash } from "node:crypto"
import type * as PostgresCluster from "./PostgresCluster.ts"
import * as RunDatabase from "./RunDatabase.ts"
import * as RunFence from "./RunFence.ts"

/** The run ended with an error where it was driven; `error` is the error's tag. */
export class DriveError extends Schema.TaggedError<DriveError>()("DriveError", {
  run: Schema.String,
  error: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${this.run}: ${this.detail}`
  }
}

const Drive = Rpc.make("Drive", {
  payload: { id: Schema.String, program: Schema.Json },
  primaryKey: ({ id }) => id,
  error: DriveError
}).annotate(ClusterSchema.Persisted, true).annotate(ClusterSchema.InterruptOnTermination, true)

/** Each run is an entity of its own, which one runner has at a time. */
const Run = Entity.make("effect-rl/Run", [Drive])

/** What a driver has: the run that it has taken over, and its place in the cluster. */
export type Services = RunStore.RunStore | RunFence.RunFence | PostgresCluster.Services

const tagOf = (error: unknown) => Predicate.hasProperty(error, "_tag") ? String(error._tag) : "Error"

const messageOf = (error: unknown) => Predicate.hasProperty(error, "message") ? String(error.message) : String(error)

const failed = (run: string) => (cause: Cause.Cause<unknown>) => {
  const error = Cause.squash(cause)
  return new DriveError({ run, error: tagOf(error), detail: messageOf(error) })
}

/** Waits until the runner notices that the run is another's, and gives it up. */
const giveUp = (run: string) =>
  Effect.andThen(
    Effect.logWarning(`another worker has taken ${run} over: this one no longer drives it`),
    Effect.never
  )

/** Drives a run from its records to its end. */
const driven = <E>(run: string, drive: Effect.Effect<void, E, Services>) =>
  Effect.gen(function*() {
    const { epoch, isCurrent } = yield* RunFence.RunFence
    yield* Effect.logInfo(epoch === 1 ? `driving ${run}` : `driving ${run}, taken over`)
    yield* Effect.catchCause(
      Effect.provide(drive, RunDatabase.layer),
      (cause) =>
        Effect.gen(function*() {
          if (Cause.hasInterruptsOnly(cause)) return yield* Effect.interrupt
          return (yield* isCurrent) ? yield* failed(run)(cause) : yield* giveUp(run)
        })
    )
  }).pipe(
    Effect.provide(RunFence.RunFence.layer(run)),
    Effect.catchTag("RunError", (error) => Effect.fail(failed(run)(Cause.fail(error))))
  )

/**
 * Makes a runner drive runs: `drive` gets the program with which a run was begun, and goes on from what the run's store has.
 *
 * @example
 * import * as NodeServices from "@effect/platform-node/NodeServices"
 *
 * const engine = Layer.provide(Engine.layer, NodeServices.layer)
 * const worker = RunDriver.worker(() => Stream.runDrain(Rl.run({ model, dataset })).pipe(Effect.provide(engine)))
 */
export const worker = <E>(
  drive: (program: Schema.Json) => Effect.Effect<void, E, Services>
): Layer.Layer<never, never, PostgresCluster.Services> =>
  Run.toLayer(
    Effect.succeed(Run.of({
      Drive: ({ address, payload }) => driven(address.entityId, drive(payload.program))
    })),
    { maxIdleTime: "10 seconds" }
  )

/** Deletes the message and its answer, so that the same command may drive the run again. */
const forget = Effect.fnUntraced(function*(run: string) {
  const storage = yield* MessageStorage.MessageStorage
  const sharding = yield* Sharding.Sharding
  const entityId = EntityId.make(run)
  const shardId = sharding.getShardId(entityId, "default")
  yield* storage.clearAddress(EntityAddress.make({ entityType: Run.type, entityId, shardId }))
}, Effect.ignore({ log: true }))

export interface Options {
  /** How long an interruption waits until the driver has saved and stopped; as long as it takes unless given. */
  readonly interruptTimeout?: Duration.Input
}

/**
 * Has a run driven by the cluster until it ends. The same program joins a run that is being driven already. An interruption stops the run,
 * which saves what is under way; a process that is lost leaves it going on.
 *
 * @example
 * const cluster = PostgresCluster.client({
 *   database: Redacted.make("postgres://trainer@db.example/training"),
 *   secret: Redacted.make("of the cluster")
 * })
 * const trained = RunDriver.drive("sums", { recipe: "arithmetic" }).pipe(Effect.provide(cluster))
 */
export const drive = Effect.fn("RunDriver.drive")(function*(
  run: string,
  program: Schema.Json,
  { interruptTimeout = Duration.infinity }: Options = {}
) {
  const clientFor = yield* Run.client
  const id = createHash("sha256").update(JSON.stringify(program)).digest("hex")
  const answered = clientFor(run).Drive({ id, program }).pipe(
    Effect.retry({ while: Predicate.isTagged("PersistenceError"), schedule: Schedule.spaced("1 second") }),
    Effect.mapError((error) => error._tag === "DriveError" ? error : failed(run)(Cause.fail(error)))
  )
  // The message stays until the driver has answered its interruption, which the same message asks for.
  const stopped = Effect.timeoutOption(Effect.interruptible(Effect.exit(answered)), interruptTimeout)
  return yield* answered.pipe(
    Effect.onInterrupt(() => stopped),
    Effect.ensuring(forget(run)),
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? new DriveError({ run, error: "Stopped", detail: "another command has stopped it" })
        : Effect.failCause(cause)
    )
  )
})
