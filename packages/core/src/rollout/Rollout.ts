/** From environments and a policy to trajectories: one episode, one group, many groups. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as Env from "../env/Env.ts"
import type { EnvGroupBuilder } from "../env/EnvGroupBuilder.ts"
import type { Trajectory } from "../env/Trajectory.ts"
import type * as Policy from "../policy/Policy.ts"
import type { MemberKey } from "../record/Key.ts"
import * as Attempts from "./Attempts.ts"
import * as Episode from "./Episode.ts"
import * as Executor from "./Executor.ts"
import * as FailurePolicy from "./FailurePolicy.ts"
import * as Group from "./Group.ts"
import { type Options, wrongConcurrency } from "./GroupOptions.ts"
import type { GroupResult } from "./GroupResult.ts"
import { RolloutError, Violation } from "./RolloutError.ts"

export type EpisodeOptions<HE = never, HR = never> = Episode.Options<HE, HR>

export type GroupOptions<E = unknown, PE = unknown, HE = never, HR = never> = Options<E, PE, HE, HR>

/** Groups rolled out at the same time unless said otherwise. */
export const defaultConcurrency = 64

export interface StreamOptions<in E = unknown, in PE = unknown, HE = never, HR = never> extends Options<E, PE, HE, HR> {
  /** Groups rolled out at the same time; default `defaultConcurrency`, 64. */
  readonly concurrency?: number
  /** Emit groups as they finish instead of in the builders' order. */
  readonly unordered?: boolean
  /** Where groups are rolled out; in this process unless given. */
  readonly executor?: Executor.Executor
}

/**
 * Plays one environment to its end, or to a limit.
 *
 * @see tinker-cookbook `do_single_rollout`, `run_rollout`
 */
export const episode = <E, R, PE, PR, HE = never, HR = never>(
  env: Env.Env<E, R>,
  policy: Policy.Policy<PE, PR>,
  key: MemberKey,
  options: EpisodeOptions<HE, HR> = {}
): Effect.Effect<Trajectory, E | PE | HE | RolloutError, R | PR | HR> =>
  Effect.catch(
    Episode.run<E | HE, R | HR, PE, PR>(env, policy, key, options),
    (failure) => FailurePolicy.raise(failure)
  )

/**
 * Plays all members of a group at the same time, then asks for the group's rewards. Members come back in order. The group is
 * opened once; each member is acquired in a scope of its own, which closes before its retry, or after the group's rewards.
 *
 * @see tinker-cookbook `do_group_rollout`
 */
export const group = <E, R, PE, PR, HE = never, HR = never>(
  builder: EnvGroupBuilder<E, R>,
  policy: Policy.Policy<PE, PR>,
  options: Options<NoInfer<E>, NoInfer<PE>, HE, HR> = {}
): Effect.Effect<GroupResult, E | PE | HE | RolloutError, Exclude<R | HR, Scope.Scope> | PR> =>
  Effect.withSpan(Group.roll<E | HE, R | HR, PE, PR>(builder, policy, options), "Rollout.group", {
    attributes: { group: builder.key }
  })

/** What no groups can be rolled out with; seeds and order come from their keys. */
const misuse = (builders: ReadonlyArray<EnvGroupBuilder<unknown, unknown>>, concurrency: number) => {
  const tooFew = wrongConcurrency(concurrency)
  const keys = new Set<string>()
  for (const { key } of builders) {
    const reason = tooFew ?? (keys.has(key)
      ? new Violation({ field: "key", found: "that of two groups", expected: "a key of its own for each" })
      : undefined)
    if (reason !== undefined) return new RolloutError({ group: key, member: Attempts.wholeGroup, reason })
    keys.add(key)
  }
  return undefined
}

/** Groups that begin in one turn of the event loop: others have theirs in between, however many groups there are. */
const groupsPerTurn = 64

const inTurns = <A>(builders: ReadonlyArray<A>) =>
  Stream.fromArray(builders).pipe(
    Stream.rechunk(groupsPerTurn),
    Stream.mapArrayEffect((some) => Effect.as(Effect.yieldNow, some))
  )

/**
 * Rolls out many groups with bounded concurrency; the first group that fails interrupts the others, all of them together: a stream
 * by itself would interrupt them one by one, and those that wait for their turn would go on sampling. Fails before the first where
 * two share a key, or where `concurrency` is not a positive whole number.
 */
export function stream<B extends EnvGroupBuilder<unknown, unknown>, PE, PR, HE = never, HR = never>(
  builders: ReadonlyArray<B>,
  policy: Policy.Policy<PE, PR>,
  options?: StreamOptions<Env.Error<NoInfer<B>>, NoInfer<PE>, HE, HR>
): Stream.Stream<
  GroupResult,
  Env.Error<B> | PE | HE | RolloutError,
  Exclude<Env.Requirements<B> | HR, Scope.Scope> | PR
>
export function stream<E, R, PE, PR, HE, HR>(
  builders: ReadonlyArray<EnvGroupBuilder<E, R>>,
  policy: Policy.Policy<PE, PR>,
  options: StreamOptions<E, PE, HE, HR> = {}
) {
  const { concurrency = defaultConcurrency, executor, unordered = false, ...groupOptions } = options
  const wrong = misuse(builders, concurrency)
  if (wrong !== undefined) return Stream.fail(wrong)
  const rolling = Effect.map(FiberSet.make<GroupResult, E | PE | HE | RolloutError>(), (groups) => {
    const roll = (builder: EnvGroupBuilder<E, R>) => {
      const here = group(builder, policy, groupOptions)
      const there = executor === undefined ? here : Executor.roll(executor, builder, policy, groupOptions, here)
      return Effect.flatMap(FiberSet.run(groups, there), Fiber.join)
    }
    return Stream.mapEffect(inTurns(builders), roll, { concurrency, unordered })
  })
  return Stream.unwrap(rolling)
}
