/** What a caller says of how a group is rolled out. */
import type * as Duration from "effect/Duration"
import * as Limits from "../env/Limits.ts"
import type * as TerminationReward from "../env/TerminationReward.ts"
import type * as FailurePolicy from "./FailurePolicy.ts"
import type { Hooks } from "./Hooks.ts"
import { Violation } from "./RolloutError.ts"

/** What holds wherever a group is rolled out. */
export interface Bounds {
  /** Part of every key and seed; default 0. */
  readonly iteration?: number
  /** Optimizer steps behind the policy's weights; default 0. */
  readonly samplerStep?: number
  /** Of these and an environment's own the tighter hold. */
  readonly limits?: Limits.Limits
  /** What an episode is worth that ended at a limit; as much as any other unless given. */
  readonly termination?: TerminationReward.TerminationReward
  /** Longest time for opening the group, and for acquiring and playing one member; unbounded unless given. */
  readonly memberTimeout?: Duration.Input
  /** Longest time for the group's rewards; default `memberTimeout`. */
  readonly graderTimeout?: Duration.Input
  /** Longest time to wait, once a member is over, for what it releases; with a `memberTimeout` also for what it acquires. Default 30 s. */
  readonly releaseTimeout?: Duration.Input
}

/** The hooks' errors and requirements add to the environment's. */
export interface Options<in E = unknown, in PE = unknown, HE = never, HR = never> extends Bounds {
  /** Default `FailurePolicy.failFast`. */
  readonly onFailure?: FailurePolicy.FailurePolicy<E | NoInfer<HE>, PE>
  readonly hooks?: Hooks<HE, HR>
}

/** The same with hooks and environment as one. */
export interface Settings<E, R, PE> extends Bounds {
  readonly onFailure?: FailurePolicy.FailurePolicy<E, PE>
  readonly hooks?: Hooks<E, R>
}

const isCount = (value: number) => Number.isSafeInteger(value) && value >= 1

const wrong = (field: string, found: unknown, expected: string) =>
  new Violation({ field, found: String(found), expected })

/** What no group can be rolled out with. */
export const violation = (
  size: number,
  options: Bounds,
  { maxRetries = 0, minSuccessful }: Pick<FailurePolicy.FailurePolicy, "maxRetries" | "minSuccessful"> = {}
): Violation | undefined => {
  if (!isCount(size)) return wrong("size", size, "a whole number of at least 1")
  const limit = Limits.invalid(options.limits ?? Limits.unlimited)
  if (limit !== undefined) return wrong(`limits.${limit.field}`, limit.value, limit.expected)
  for (const field of ["memberTimeout", "graderTimeout", "releaseTimeout"] as const) {
    const value = options[field]
    if (value !== undefined && !Limits.isTime(value)) return wrong(field, value, Limits.expectedTime)
  }
  if (!(maxRetries >= 0)) return wrong("onFailure.maxRetries", maxRetries, "a number from 0 on")
  const floor = minSuccessful?.(size) ?? size
  if (isCount(floor) && floor <= size) return undefined
  return wrong("onFailure.minSuccessful", floor, `a whole number from 1 to the group's size of ${size}`)
}

/** How many groups can be rolled out at the same time. */
export const wrongConcurrency = (concurrency: number): Violation | undefined =>
  isCount(concurrency) ? undefined : wrong("concurrency", concurrency, "a whole number of at least 1")
