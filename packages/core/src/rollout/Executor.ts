/** Where groups are rolled out: in this process, or wherever an executor sends them. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { EnvGroupBuilder } from "../env/EnvGroupBuilder.ts"
import type * as Limits from "../env/Limits.ts"
import type * as Policy from "../policy/Policy.ts"
import * as Fields from "../record/Fields.ts"
import * as Attempts from "./Attempts.ts"
import * as GroupOptions from "./GroupOptions.ts"
import type { GroupResult } from "./GroupResult.ts"
import { NotPortable, RolloutError, type Violation } from "./RolloutError.ts"

const Count = Schema.optionalKey(Schema.Int)
const Millis = Schema.optionalKey(Schema.Number)

/** One group as it is sent; times are milliseconds. */
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
      topK: Count,
      coalesceFirstTurns: Schema.optionalKey(Schema.Boolean)
    })
  }),
  options: Schema.Struct({
    iteration: Count,
    samplerStep: Count,
    limits: Schema.optionalKey(Schema.Struct({
      maxTurns: Count,
      maxTrajectoryTokens: Count,
      maxSampledTokens: Count,
      maxTurnTokens: Count,
      maxToolCalls: Count,
      rolloutTimeout: Millis,
      turnTimeout: Millis,
      stepTimeout: Millis
    })),
    termination: Schema.optionalKey(Schema.Struct({
      zeroRewardOnLimit: Schema.optionalKey(Schema.Boolean),
      limitStopReasons: Schema.optionalKey(Schema.Array(Schema.String)),
      skipGradingOnTimeout: Schema.optionalKey(Schema.Boolean)
    })),
    memberTimeout: Millis,
    graderTimeout: Millis,
    releaseTimeout: Millis
  })
})
export type Job = typeof Job.Type

/** A place to roll groups out. `others` says what becomes of a group that cannot be sent there. */
export interface Executor {
  readonly roll: (job: Job) => Effect.Effect<GroupResult, RolloutError>
  readonly others: "fail" | "here"
}

const millis = (duration: Duration.Input | undefined) =>
  duration === undefined ? undefined : Duration.toMillis(Duration.fromInputUnsafe(duration))

const limits = ({ rolloutTimeout, stepTimeout, turnTimeout, ...counts }: Limits.Limits): Job["options"]["limits"] =>
  Fields.given({
    ...counts,
    rolloutTimeout: millis(rolloutTimeout),
    stepTimeout: millis(stepTimeout),
    turnTimeout: millis(turnTimeout)
  })

const bounds = (options: GroupOptions.Bounds): Job["options"] =>
  Fields.given({
    iteration: options.iteration,
    samplerStep: options.samplerStep,
    limits: options.limits === undefined ? undefined : limits(options.limits),
    termination: options.termination,
    memberTimeout: millis(options.memberTimeout),
    graderTimeout: millis(options.graderTimeout),
    releaseTimeout: millis(options.releaseTimeout)
  })

const notPortable = (what: string, expected: string) => Result.fail(new NotPortable({ what, expected }))

interface Settings extends GroupOptions.Bounds {
  readonly onFailure?: unknown
  readonly hooks?: unknown
}

/** What is sent for a group, or what of it is known here alone, or wrong anywhere. */
export const job = (
  { key, size, task }: EnvGroupBuilder<unknown, unknown>,
  { description }: Policy.Policy<unknown, unknown>,
  options: Settings
): Result.Result<Job, NotPortable | Violation> => {
  const wrong = GroupOptions.violation(size, options)
  if (wrong !== undefined) return Result.fail(wrong)
  if (task === undefined) return notPortable("a group's builder", "make it with a RolloutTask")
  if (description === undefined) return notPortable("the policy", "make it with Policy.fromSamplingClient")
  for (const field of ["onFailure", "hooks"] as const) {
    if (options[field] !== undefined) return notPortable(field, "give it to the RolloutTask")
  }
  return Result.succeed({ group: key, task, policy: description, options: bounds(options) })
}

/** Sends a group away, or rolls it out `here`. */
export const roll = <E, R>(
  executor: Executor,
  builder: EnvGroupBuilder<unknown, unknown>,
  policy: Policy.Policy<unknown, unknown>,
  options: Settings,
  here: Effect.Effect<GroupResult, E, R>
): Effect.Effect<GroupResult, E | RolloutError, R> =>
  Result.match(job(builder, policy, options), {
    onSuccess: (job): Effect.Effect<GroupResult, E | RolloutError, R> => executor.roll(job),
    onFailure: (reason) =>
      executor.others === "here"
        ? here
        : Effect.fail(new RolloutError({ group: builder.key, member: Attempts.wholeGroup, reason }))
  })
