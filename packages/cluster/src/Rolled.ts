/** A worker's answer: the result or error of a group, its log, and the tokens that it used. */
import { Metering } from "@effect-rl/core/backend"
import { type Executor, type GroupResult, RolloutError, TaskRegistry } from "@effect-rl/core/program"
import { GroupPayload } from "@effect-rl/core/records"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as RemoteLog from "./RemoteLog.ts"

const Tokens = Schema.Struct({
  prefilled: Schema.Finite,
  sampled: Schema.Finite,
  trained: Schema.Finite,
  cached: Schema.optional(Schema.Finite),
  judgeCalls: Schema.optional(Schema.Finite)
})

export const Rolled = Schema.Struct({
  worker: Schema.String,
  lines: Schema.Array(RemoteLog.Line),
  /** Tokens by model; undefined if a model does not report them. Groups that failed are included. */
  used: Schema.Array(Schema.Tuple([Schema.String, Schema.UndefinedOr(Tokens)])),
  outcome: Schema.Result(GroupPayload.codec, RolloutError.RolloutError)
})
export type Rolled = typeof Rolled.Type

/** Rolls a group out in this process. */
export const roll = (job: Executor.Job): Effect.Effect<Rolled, never, TaskRegistry.TaskRegistry> =>
  Effect.flatMap(TaskRegistry.TaskRegistry, (registry) => {
    const lines: Array<RemoteLog.Line> = []
    const { metering, used } = Metering.counter()
    return registry.roll(job).pipe(
      Effect.annotateLogs({ group: job.group }),
      RemoteLog.divert((line) => void lines.push(line)),
      Effect.provideService(Metering.Metering, metering),
      Effect.result,
      Effect.map((outcome) => ({ worker: String(process.pid), lines, used: used(), outcome }))
    )
  })

/** The result that a worker sent. Replays its log lines and counts its tokens as if the group had been rolled out here. */
export const unwrap = Effect.fnUntraced(function*({ lines, outcome, used, worker }: Rolled): Effect.fn.Return<
  GroupResult.GroupResult,
  RolloutError.RolloutError
> {
  const { count } = yield* Metering.Metering
  yield* Effect.forEach(lines, (line) => RemoteLog.replay(worker, line), { discard: true })
  yield* Effect.forEach(used, ([model, tokens]) => count(model, tokens), { discard: true })
  return yield* Effect.fromResult(outcome)
})
