/** How a worker answers: the result or the error of a group, and what it logged. */
import { type Executor, GroupPayload, type GroupResult, RolloutError, TaskRegistry } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as RemoteLog from "./RemoteLog.ts"

export const Rolled = Schema.Struct({
  worker: Schema.String,
  lines: Schema.Array(RemoteLog.Line),
  outcome: Schema.Result(GroupPayload.codec, RolloutError.RolloutError)
})
export type Rolled = typeof Rolled.Type

/** Rolls a group out in this process. */
export const roll = (job: Executor.Job): Effect.Effect<Rolled, never, TaskRegistry.TaskRegistry> =>
  Effect.flatMap(TaskRegistry.TaskRegistry, (registry) => {
    const lines: Array<RemoteLog.Line> = []
    return registry.roll(job).pipe(
      Effect.annotateLogs({ group: job.group }),
      RemoteLog.divert((line) => void lines.push(line)),
      Effect.result,
      Effect.map((outcome) => ({ worker: String(process.pid), lines, outcome }))
    )
  })

/** The answer of a worker, as if the group had been rolled out here. */
export const unwrap = ({ lines, outcome, worker }: Rolled): Effect.Effect<
  GroupResult.GroupResult,
  RolloutError.RolloutError
> =>
  Effect.andThen(
    Effect.forEach(lines, (line) => RemoteLog.replay(worker, line), { discard: true }),
    Effect.fromResult(outcome)
  )
