/**
 * The rollout tasks that a worker knows, by name.
 *
 * @example
 * const worker = TaskRegistry.TaskRegistry.layer(task)
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as RcMap from "effect/RcMap"
import { Metering } from "../backend/Metering.ts"
import { Tinker } from "../backend/Tinker.ts"
import * as Policy from "../policy/Policy.ts"
import * as Attempts from "./Attempts.ts"
import type { Job } from "./Executor.ts"
import type { GroupResult } from "./GroupResult.ts"
import { RolloutError, UnknownTask } from "./RolloutError.ts"
import * as RolloutTask from "./RolloutTask.ts"

/** Sampling clients are released after this time without use, because every optimizer step creates new weights. */
const idleTimeToLive = "1 minute"

/** Rolls out jobs with a worker's tasks. Fails with `UnknownTask` if the worker has no task of the job's name. */
export class TaskRegistry extends Context.Service<TaskRegistry, {
  readonly roll: (job: Job) => Effect.Effect<GroupResult, RolloutError>
}>()("@effect-rl/core/rollout/TaskRegistry") {
  /** Registers tasks by name; they sample from this process's backend. */
  static readonly layer = <R = never>(
    ...tasks: ReadonlyArray<RolloutTask.Portable<R>>
  ): Layer.Layer<TaskRegistry, never, R | Tinker> =>
    Layer.effect(
      TaskRegistry,
      Effect.gen(function*() {
        const context = yield* Effect.context<R>()
        const tinker = yield* Tinker
        const byName = new Map(tasks.map((task) => [task.name, task]))
        const samplers = yield* RcMap.make({
          lookup: (modelPath: string) =>
            Effect.flatMap(tinker.models, (models) =>
              tinker.createSamplingClient(models.includes(modelPath) ? { baseModel: modelPath } : { modelPath })),
          idleTimeToLive
        })
        const roll = Effect.fnUntraced(function*(job: Job) {
          const task = byName.get(job.task.name)
          if (task === undefined) {
            const reason = new UnknownTask({ name: job.task.name, known: [...byName.keys()] })
            return yield* new RolloutError({ group: job.group, member: Attempts.wholeGroup, reason })
          }
          const { modelPath } = job.policy
          const client = yield* RcMap.get(samplers, modelPath).pipe(
            Effect.tapError(() =>
              RcMap.invalidate(samplers, modelPath)
            ),
            Effect.mapError((error) => RolloutTask.failed(job.group, error))
          )
          const { meter } = yield* Metering
          return yield* task.roll(job, Policy.fromSamplingClient(meter(client), job.policy.options))
        }, Effect.scoped)
        return TaskRegistry.of({
          roll: (job) => Effect.provideContext(roll(job), context)
        })
      })
    )
}
