/** Options of rolling out a group. */
import type * as Duration from "effect/Duration"
import type { EnvGroupBuilder } from "../env/EnvGroupBuilder.ts"
import * as Limits from "../env/Limits.ts"
import type * as TerminationReward from "../env/message/TerminationReward.ts"
import * as Check from "../settings/Check.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import type * as FailurePolicy from "./FailurePolicy.ts"
import type { Hooks } from "./Hooks.ts"

/** How long the rollout of one group may take, wherever it is rolled out. */
export interface Deadline {
  /**
   * Longest time for one group, from its opening to its rewards. A group that takes longer is skipped as timed out, whatever
   * the failure policy. Unbounded unless given.
   */
  readonly groupTimeout?: Duration.Input
}

/** Options that can be sent to where a group is rolled out. */
export interface Bounds {
  /** Part of every key and seed; default 0. */
  readonly iteration?: number
  /** The run's seed, from which environments and graders derive theirs; default 0. The policy has a seed of its own. */
  readonly seed?: number
  /** Optimizer steps that led to the policy's weights; default 0. */
  readonly samplerStep?: number
  /** The tighter of these and an environment's own apply. */
  readonly limits?: Limits.Limits
  /** The reward of an episode that ended at a limit; unchanged unless given. */
  readonly termination?: TerminationReward.TerminationReward
  /** Longest time for opening the group, and for acquiring and playing one member; unbounded unless given. */
  readonly memberTimeout?: Duration.Input
  /**
   * Longest time for the group's rewards, and for the grader of a `ProblemEnv`, a `ToolEnv` or a problem. Unless given, `memberTimeout` for
   * the group's rewards, and 10 minutes otherwise.
   */
  readonly graderTimeout?: Duration.Input
  /** Longest time to wait for a member's releases once it is over, and with a `memberTimeout` also for its acquisitions. Default 30 s. */
  readonly releaseTimeout?: Duration.Input
}

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

/** The first invalid option. */
export const invalid = (
  { key, size }: Pick<EnvGroupBuilder<unknown, unknown>, "key" | "size">,
  options: Bounds,
  { maxRetries, minSuccessful }: Pick<FailurePolicy.FailurePolicy, "maxRetries" | "minSuccessful"> = {}
): InvalidOption | undefined => {
  const sizeIsValid = Check.option(`size of group "${key}"`, size, Check.whole(1))
  return Check.broken([
    sizeIsValid,
    ...(options.limits === undefined ? [] : Limits.checks(options.limits, "limits.")),
    ...(["memberTimeout", "graderTimeout", "releaseTimeout"] as const).map((field) =>
      Check.option(field, options[field], Check.time)
    ),
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
