/** Rolls out groups on the runners of an effect/cluster. */
import { Executor, RolloutError } from "@effect-rl/core/program"
import * as ClusterSchema from "effect/cluster/ClusterSchema"
import * as Entity from "effect/cluster/Entity"
import type * as MessageStorage from "effect/cluster/MessageStorage"
import type * as Sharding from "effect/cluster/Sharding"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Rpc from "effect/rpc/Rpc"
import * as Schema from "effect/Schema"
import type { Scope } from "effect/Scope"
import { randomUUID } from "node:crypto"
import { Drivers } from "./Drivers.ts"
import * as Rolled from "./Rolled.ts"
import * as StoredMessages from "./StoredMessages.ts"

const Roll = Rpc.make("Roll", {
  payload: { id: Schema.String, driver: Schema.String, job: Executor.Job },
  primaryKey: ({ id }) => id,
  // Null if the driver was believed lost.
  success: Schema.NullOr(Rolled.Rolled)
}).annotate(ClusterSchema.Persisted, true)

/** Each group is a separate entity, so groups are spread over the runners. */
const Group = Entity.make("effect-rl/RolloutGroup", [Roll])

/**
 * Lets a runner roll out groups. A message is kept until it is answered, so another runner repeats the work of a lost runner. The groups of
 * a lost driver are dropped within half a minute.
 */
export const worker = Group.toLayer(
  Effect.map(Drivers, ({ lost }) =>
    Group.of({
      Roll: ({ payload: { driver, job } }) => Effect.raceFirst(Rolled.roll(job), Effect.as(lost(driver), null))
    })),
  { maxIdleTime: "10 seconds" }
)

/** A driver that workers believe lost this many times for one group has no heartbeats. */
const mostLost = 5

type Services = Sharding.Sharding | MessageStorage.MessageStorage | Drivers

const make: Effect.Effect<Executor.Executor, never, Services | Scope> = Effect
  .gen(function*() {
    const clientFor = yield* Group.client
    const forget = yield* StoredMessages.forget(Group.type)
    const driver = randomUUID()
    yield* Drivers.use(({ enter }) => enter(driver))
    let count = 0
    const failed = (group: string, { message }: Pick<Error, "message">) =>
      new RolloutError.RolloutError({
        group,
        member: -1,
        reason: new RolloutError.ExecutorFailed({ detail: message })
      })
    const send = (job: Executor.Job) =>
      Effect.suspend(() => {
        const id = `${driver}/${count++}`
        return clientFor(id).Roll({ id, driver, job }).pipe(
          Effect.mapError((error) => failed(job.group, error)),
          // The stored message is kept after an interruption, because the interrupt that the worker has yet to receive refers to it.
          Effect.onExit((exit) => Exit.hasInterrupts(exit) ? Effect.void : forget(id))
        )
      })
    // Null means that workers considered this driver lost. It was only paused, so it sends the group again.
    const roll = (job: Executor.Job, left = mostLost): ReturnType<Executor.Executor["roll"]> =>
      Effect.flatMap(send(job), (rolled) => {
        if (rolled !== null) return Rolled.unwrap(rolled)
        if (left > 1) return roll(job, left - 1)
        const message =
          `workers have believed this process lost ${mostLost} times: its heartbeats do not reach the database`
        return Effect.fail(failed(job.group, { message }))
      })
    return { roll: (job) => roll(job) }
  })

/**
 * Rolls out each group on the effect/cluster runner that owns the group's shard.
 *
 * @example
 * const trained = Stream.runDrain(Rl.run({ model, dataset })).pipe(
 *   Effect.provide(ClusterExecutor.layer),
 *   Effect.provide(LocalCluster.client({ database: "cluster.db" }))
 * )
 */
export const layer: Layer.Layer<never, never, Services> = Layer.effect(
  Executor.Executor,
  make
)
