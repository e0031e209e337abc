/**
 * Drives a run on a cluster: one runner takes the run over and drives it to its end. If that runner is lost, another runner resumes from
 * the run's records. A driver that was only paused can no longer write, and stops.
 */
import type { RunStore } from "@effect-rl/core"
import * as Cause from "effect/Cause"
import * as ClusterSchema from "effect/cluster/ClusterSchema"
import * as Entity from "effect/cluster/Entity"
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
import * as StoredMessages from "./StoredMessages.ts"

/** The run failed on the runner that drove it. `error` is the tag of the failure. */
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

/** Each run is a separate entity, which only one runner has at a time. */
const Run = Entity.make("effect-rl/Run", [Drive])

/**
 * The services of a driver: the store of the run that it has taken over, the fence for writes to the run, and the
 * services of the cluster.
 */
export type Services = RunStore.RunStore | RunFence.RunFence | PostgresCluster.Services

const tagOf = (error: unknown) => Predicate.hasProperty(error, "_tag") ? String(error._tag) : "Error"

const messageOf = (error: unknown) => Predicate.hasProperty(error, "message") ? String(error.message) : String(error)

const failed = (run: string) => (cause: Cause.Cause<unknown>) => {
  const error = Cause.squash(cause)
  return new DriveError({ run, error: tagOf(error), detail: messageOf(error) })
}

/** Stops driving a run that another process has taken over: logs a warning and waits until the runner interrupts this driver. */
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
 * Lets a runner drive runs. `drive` receives the program that the run was started with, and resumes from the records in the run's store.
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

const hashOf = (program: Schema.Json) => createHash("sha256").update(JSON.stringify(program)).digest("hex")

export interface Options {
  /** Identifies the program: commands with the same id wait for the same drive. Default: a hash of the program. */
  readonly id?: string
  /** How long an interruption waits for the driver to save and stop. Default: no limit. */
  readonly interruptTimeout?: Duration.Input
}

/**
 * Drives a run on the cluster and waits until it ends. If the run is already being driven with the same program, waits
 * for it instead of starting again; if with another program, waits for its end and then drives the run. Interruption
 * stops the run after it has saved its progress. If the calling process dies, the run continues. Fails with
 * `DriveError` if the run fails or another command stops it.
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
  { id = hashOf(program), interruptTimeout = Duration.infinity }: Options = {}
) {
  const clientFor = yield* Run.client
  const forget = yield* StoredMessages.forgetRequest(Run.type)
  const answered = clientFor(run).Drive({ id, program }).pipe(
    Effect.retry({ while: Predicate.isTagged("PersistenceError"), schedule: Schedule.spaced("1 second") }),
    Effect.mapError((error) => error._tag === "DriveError" ? error : failed(run)(Cause.fail(error)))
  )
  // An interruption refers to the stored message, so the driver has some time to answer before the message is deleted.
  const stopped = Effect.timeoutOption(Effect.interruptible(Effect.exit(answered)), interruptTimeout)
  return yield* answered.pipe(
    Effect.onInterrupt(() => stopped),
    // Deleted so that the same command can drive the run again. Other commands that wait for the answer read it first. Requests of other
    // programs, which wait for this one's end, stay.
    Effect.ensuring(Effect.andThen(Effect.sleep("1 second"), forget({ entityId: run, tag: "Drive", key: id }))),
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? new DriveError({ run, error: "Stopped", detail: "another command has stopped it" })
        : Effect.failCause(cause)
    )
  )
})
