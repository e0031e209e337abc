/** Options of rolling out a group. */
import * as Schema from "effect/Schema"
import type { EnvGroupBuilder } from "../env/EnvGroupBuilder.ts"
import * as Limits from "../env/Limits.ts"
import * as TerminationReward from "../env/message/TerminationReward.ts"
import * as Check from "../settings/Check.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as Setting from "../settings/Setting.ts"
import type * as FailurePolicy from "./FailurePolicy.ts"
import type { Hooks } from "./Hooks.ts"

/** How long the rollout of one group may take, wherever it is rolled out. */
export const DeadlineSettings = Schema.Struct({
  groupTimeout: Setting.duration({
    help:
      "Longest time for all attempts at one problem, from its opening to its rewards; a group that takes longer is skipped. Unless given, unbounded where pace is synchronous and otherwise 1 hour"
  })
})
export interface Deadline extends Schema.Codec.Encoded<typeof DeadlineSettings> {}

/** Options that can be sent to where a group is rolled out. */
export const BoundSettings = Schema.Struct({
  iteration: Setting.int({ least: 0, help: "Part of every key and seed; 0 unless given" }),
  seed: Setting.int({
    least: 0,
    help:
      "The run's seed, from which environments and graders derive theirs; 0 unless given. The policy has a seed of its own"
  }),
  samplerStep: Setting.int({ least: 0, help: "Optimizer steps that led to the policy's weights; 0 unless given" }),
  limits: Setting.group(Limits.LimitSettings),
  termination: Setting.group(TerminationReward.TerminationSettings),
  memberTimeout: Setting.duration({
    help: "Longest time for opening a group, and for one attempt; unbounded unless given"
  }),
  graderTimeout: Setting.duration({
    help:
      "Longest time for a group's rewards, and for a grader; unless given, memberTimeout for the rewards, and 10 minutes otherwise"
  }),
  releaseTimeout: Setting.duration({
    help:
      "Longest time to wait for an attempt's releases once it is over, and with a memberTimeout also for its acquisitions; 30 seconds unless given"
  })
})
export interface Bounds extends Schema.Codec.Encoded<typeof BoundSettings> {}

/** The hooks' errors and requirements add to the environment's. */
export interface Options<in E = unknown, in PE = unknown, HE = never, HR = never> extends Bounds {
  /** Default `FailurePolicy.dropUngraded`. */
  readonly onFailure?: FailurePolicy.FailurePolicy<E | NoInfer<HE>, PE>
  readonly hooks?: Hooks<HE, HR>
}

/** Options whose hooks have the environment's types of errors and requirements. */
export interface Settings<E, R, PE> extends Bounds {
  readonly onFailure?: FailurePolicy.FailurePolicy<E, PE>
  readonly hooks?: Hooks<E, R>
}

const checks = Setting.checks(BoundSettings)

/** The first invalid option. */
export const invalid = (
  { key, size }: Pick<EnvGroupBuilder<unknown, unknown>, "key" | "size">,
  options: Bounds,
  { maxRetries, minSuccessful }: Pick<FailurePolicy.FailurePolicy, "maxRetries" | "minSuccessful"> = {}
): InvalidOption | undefined => {
  const sizeIsValid = Check.option(`size of group "${key}"`, size, Check.whole(1))
  return Check.broken([
    sizeIsValid,
    ...checks(options),
    Check.option("onFailure.maxRetries", maxRetries, {
      expected: "a number from 0 on",
      accepts: (value) => value >= 0
    }),
    Check.option("onFailure.minSuccessful", sizeIsValid.holds ? minSuccessful?.(size) : undefined, Check.whole(1, size))
  ])
}

/** Checks how many groups are rolled out at the same time. */
export const invalidConcurrency = (concurrency: number): InvalidOption | undefined =>
  Check.broken([Check.option("concurrency", concurrency, Check.whole(1))])
