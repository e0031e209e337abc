/**
 * Where groups are rolled out: in this process by default, or in threads or other processes if a Layer provides an executor for them.
 *
 * @example
 * const worker = new URL("./worker.ts", import.meta.url)
 * Rollout.stream([builder], policy).pipe(Stream.provide(WorkerThreads.layer({ file: worker, threads: 8 })))
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { EnvGroupBuilder } from "../env/EnvGroupBuilder.ts"
import type * as Policy from "../policy/Policy.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as Setting from "../settings/Setting.ts"
import * as Attempts from "./Attempts.ts"
import * as FailurePolicy from "./FailurePolicy.ts"
import * as Group from "./Group.ts"
import type { GroupResult } from "./GroupResult.ts"
import { NotPortable, RolloutError } from "./RolloutError.ts"

const Count = Schema.optionalKey(Schema.Int)

/** A group in the form sent to an executor; times are in milliseconds. */
export const Job = Schema.Struct({
  group: Schema.String,
  task: Schema.Struct({ name: Schema.String, payload: Schema.Json }),
  policy: Schema.Struct({
    modelPath: Schema.String,
    options: Schema.Struct({
      maxTokens: Schema.Int,
      seed: Schema.Int,
      temperature: Schema.optionalKey(Schema.Finite),
      topP: Schema.optionalKey(Schema.Finite),
      topK: Count
    })
  }),
  options: Setting.sent(Group.BoundSettings),
  onFailure: Schema.optionalKey(FailurePolicy.Description)
})
export type Job = typeof Job.Type

/**
 * Rolls out a group that is given as a serializable job. It reports its model requests to `Metering`, at the latest when the group returns.
 */
export interface Executor {
  readonly roll: (job: Job) => Effect.Effect<GroupResult, RolloutError>
}

/** The executor for all groups, also those of evaluations. It is undefined by default: groups are then rolled out in this process. */
export const Executor = Context.Reference<Executor | undefined>("@effect-rl/core/rollout/Executor", {
  defaultValue: () => undefined
})

interface Settings extends Group.Bounds {
  readonly onFailure?: FailurePolicy.FailurePolicy<never, never>
  readonly hooks?: unknown
}

const notPortable = (what: string, expected: string) => Result.fail(new NotPortable({ what, expected }))

/** The job for a group, or why there is none: an option is invalid, or a part exists only in this process. */
export const job = (
  builder: EnvGroupBuilder<unknown, unknown>,
  { description }: Policy.Policy<unknown, unknown>,
  options: Settings
): Result.Result<Job, NotPortable | InvalidOption> => {
  const invalid = Group.invalid(builder, options)
  if (invalid !== undefined) return Result.fail(invalid)
  const { key, task } = builder
  if (task === undefined) return notPortable("a group's builder", "make it with a RolloutTask")
  if (Result.isFailure(task)) return Result.fail(task.failure)
  if (description === undefined) return notPortable("the policy", "make it with Policy.fromSamplingClient")
  const onFailure = options.onFailure && FailurePolicy.description(options.onFailure)
  if (options.onFailure !== undefined && onFailure === undefined) {
    return notPortable("onFailure", "make it with FailurePolicy.fromDescription, or give it to the RolloutTask")
  }
  if (options.hooks !== undefined) return notPortable("hooks", "give them to the RolloutTask")
  return Result.succeed({
    group: key,
    task: task.success,
    policy: description,
    options: Setting.send(Group.BoundSettings, options),
    ...(onFailure === undefined ? {} : { onFailure })
  })
}

/** Sends a group to an executor and returns its result. */
export const roll = (
  executor: Executor,
  builder: EnvGroupBuilder<unknown, unknown>,
  policy: Policy.Policy<unknown, unknown>,
  options: Settings
): Effect.Effect<GroupResult, RolloutError | InvalidOption> =>
  Result.match(job(builder, policy, options), {
    onSuccess: executor.roll,
    onFailure: (reason) =>
      Effect.fail(
        reason._tag === "NotPortable"
          ? new RolloutError({ group: builder.key, member: Attempts.wholeGroup, reason })
          : reason
      )
  })
