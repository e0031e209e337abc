/** Rolls out groups in worker threads of this process. */
import { Executor, RolloutError, type TaskRegistry } from "@effect-rl/core/program"
import * as NodeWorker from "@effect/platform-node/NodeWorker"
import * as NodeWorkerRunner from "@effect/platform-node/NodeWorkerRunner"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Rpc from "effect/rpc/Rpc"
import * as RpcClient from "effect/rpc/RpcClient"
import type { RpcClientError } from "effect/rpc/RpcClientError"
import * as RpcGroup from "effect/rpc/RpcGroup"
import * as RpcServer from "effect/rpc/RpcServer"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type { WorkerError } from "effect/workers/WorkerError"
import { Worker } from "node:worker_threads"
import * as Rolled from "./Rolled.ts"

class Rollouts extends RpcGroup.make(
  Rpc.make("Roll", { payload: { job: Executor.Job }, success: Rolled.Rolled })
) {}

/** Rolls out groups for the thread that started this one. Launch it in the worker's own file. */
export const worker: Layer.Layer<never, WorkerError, TaskRegistry.TaskRegistry> = RpcServer.layer(Rollouts).pipe(
  Layer.provide(Rollouts.toLayer({ Roll: ({ job }) => Rolled.roll(job) })),
  Layer.provide(RpcServer.layerProtocolWorkerRunner),
  Layer.provide(NodeWorkerRunner.layer)
)

export interface Options {
  /** The file in which a thread launches `worker`. */
  readonly file: URL
  readonly threads: number
}

/** One worker thread. It is restarted when it ends. */
interface Thread {
  readonly roll: (job: Executor.Job) => Effect.Effect<Rolled.Rolled, RpcClientError>
  groups: number
}

const start = Effect.fnUntraced(function*({ file }: Options) {
  const protocol = yield* Layer.build(
    RpcClient.layerProtocolWorker({ size: 1, concurrency: Number.MAX_SAFE_INTEGER }).pipe(
      Layer.provide(NodeWorker.layer(() => new Worker(file)))
    )
  )
  const client = yield* Effect.provideContext(RpcClient.make(Rollouts), protocol)
  const thread: Thread = { roll: (job) => client.Roll({ job }), groups: 0 }
  return thread
})

/** Repeats a group whose thread ended, at one-second intervals and at most five times. */
const lostThreads = Schedule.spaced("1 second").pipe(Schedule.upTo({ times: 5 }))

/** Sends each group to the thread with the fewest groups. If a thread ends, its groups are repeated on another thread. */
const make = (options: Options): Effect.Effect<Executor.Executor, WorkerError, Scope.Scope> =>
  Effect.map(Effect.forEach(Array.from({ length: options.threads }), () => start(options)), (threads) => {
    const once = (job: Executor.Job) =>
      Effect.suspend(() => {
        const thread = threads.reduce((least, thread) => thread.groups < least.groups ? thread : least)
        thread.groups++
        return Effect.ensuring(thread.roll(job), Effect.sync(() => thread.groups--))
      })
    const failed = (job: Executor.Job, { message }: RpcClientError) =>
      new RolloutError.RolloutError({
        group: job.group,
        member: -1,
        reason: new RolloutError.ExecutorFailed({ detail: message })
      })
    return {
      roll: (job) =>
        once(job).pipe(
          Effect.retry(lostThreads),
          Effect.mapError((error) => failed(job, error)),
          Effect.flatMap(Rolled.unwrap)
        )
    }
  })

/**
 * Rolls out groups in worker threads of this process. The groups of a thread that ends are repeated, at most five times. The threads end
 * when the layer's scope closes.
 *
 * @example
 * const threads = WorkerThreads.layer({ file: new URL("./worker.ts", import.meta.url), threads: 8 })
 * const trained = Stream.runDrain(Rl.run({ model, dataset })).pipe(Effect.provide(threads))
 */
export const layer = (options: Options): Layer.Layer<never, WorkerError> =>
  Layer.effect(Executor.Executor, make(options))
