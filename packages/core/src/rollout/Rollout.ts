/** Plays environments with a policy and returns trajectories: for one episode, one group or many groups. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as Env from "../env/Env.ts"
import type { EnvGroupBuilder } from "../env/EnvGroupBuilder.ts"
import type { Trajectory } from "../env/Trajectory.ts"
import type * as Policy from "../policy/Policy.ts"
import type { MemberKey } from "../records/Key.ts"
import * as Usage from "../records/Usage.ts"
import * as Check from "../settings/Check.ts"
import { InvalidOption } from "../settings/InvalidOption.ts"
import * as Attempts from "./Attempts.ts"
import * as Episode from "./Episode.ts"
import * as Executor from "./Executor.ts"
import * as FailurePolicy from "./FailurePolicy.ts"
import * as Group from "./Group.ts"
import { type Deadline, invalidConcurrency, type Options } from "./Group.ts"
import { GroupLog } from "./GroupLog.ts"
import type { GroupResult, Skipped } from "./GroupResult.ts"
import type { RolloutError } from "./RolloutError.ts"

/** Options of a single episode. */
export type EpisodeOptions<HE = never, HR = never> = Episode.Options<HE, HR>

/** Options of a group. */
export type GroupOptions<E = unknown, PE = unknown, HE = never, HR = never> = Options<E, PE, HE, HR>

/** The default number of groups rolled out at the same time. */
export const defaultConcurrency = 64

/** Options of a group, including its time limit. */
export interface RecordedOptions<in E = unknown, in PE = unknown, HE = never, HR = never>
  extends Options<E, PE, HE, HR>, Deadline
{}

/** Options of many groups. */
export interface StreamOptions<in E = unknown, in PE = unknown, HE = never, HR = never>
  extends RecordedOptions<E, PE, HE, HR>
{
  /** The number of groups rolled out at the same time; default `defaultConcurrency`, 64. */
  readonly concurrency?: number
  /** Whether groups are emitted as they finish, instead of in the builders' order; default false. */
  readonly unordered?: boolean
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
 * Plays all members of a group concurrently, then computes the group's rewards. Members are returned in order. The group is opened once,
 * unless its opening fails or coupled members are retried. Each member has its own scope, which closes before a retry, or else after the
 * group's rewards.
 *
 * @example
 * const result = Rollout.group(builder, Policy.fromSamplingClient(client, { maxTokens: 64, seed: 1 }))
 *
 * @see tinker-cookbook `do_group_rollout`
 */
export const group = <E, R, PE, PR, HE = never, HR = never>(
  builder: EnvGroupBuilder<E, R>,
  policy: Policy.Policy<PE, PR>,
  options: Options<NoInfer<E>, NoInfer<PE>, HE, HR> = {}
): Effect.Effect<GroupResult, E | PE | HE | RolloutError | InvalidOption, Exclude<R | HR, Scope.Scope> | PR> =>
  Effect.withSpan(Group.roll<E | HE, R | HR, PE, PR>(builder, policy, options), "Rollout.group", {
    attributes: { group: builder.key }
  })

const ownKey = "a key of its own for each group of a batch, such as one with the index of its row"

/** The error if two groups share a key, because they would have equal seeds; undefined if all keys differ. */
export const repeatedKey = (
  builders: ReadonlyArray<EnvGroupBuilder<unknown, unknown>>
): InvalidOption | undefined => {
  const keys = new Set<string>()
  for (const { key } of builders) {
    if (keys.has(key)) return new InvalidOption({ field: "key", found: `"${key}" twice`, expected: ownKey })
    keys.add(key)
  }
  return undefined
}

/** The number of groups that begin per turn of the event loop, so that many groups do not block it. */
const groupsPerTurn = 64

const inTurns = <A>(builders: ReadonlyArray<A>) =>
  Stream.fromArray(builders).pipe(
    Stream.rechunk(groupsPerTurn),
    Stream.mapArrayEffect((some) => Effect.as(Effect.yieldNow, some))
  )

/** Returns the group from the log, or rolls it out and writes it to the log. Its tokens are counted in both cases. */
const logged = <E, R>(
  key: string,
  { iteration = 0, samplerStep: step = 0 }: Pick<Options, "iteration" | "samplerStep">,
  roll: Effect.Effect<GroupResult, E, R>
): Effect.Effect<GroupResult, E, R> =>
  Effect.gen(function*() {
    const log = yield* GroupLog
    const origin = { iteration, step, key }
    const recalled = yield* log.recall(origin)
    if (Option.isSome(recalled)) {
      yield* Usage.count(recalled.value.usage)
      return recalled.value.result
    }
    const startedAt = yield* Clock.currentTimeMillis
    const [result, usage] = yield* Usage.measure(roll)
    yield* log.write(origin, { result, usage }, (yield* Clock.currentTimeMillis) - startedAt)
    yield* Usage.count(usage)
    return result
  })

const timedOut = (
  { key, size, tags }: EnvGroupBuilder<unknown, unknown>,
  iteration: number,
  limit: Duration.Input
): Skipped => {
  const time = Duration.format(Duration.fromInputUnsafe(limit))
  const message = `not finished within ${time}: raise groupTimeout, or bound what the group waits for`
  const reason = { member: Attempts.wholeGroup, attempt: 0, failure: "TimedOut", message } as const
  return { _tag: "Skipped", iteration, key, tags, size, reason, dropped: [] }
}

const inTime = <E, R>(
  builder: EnvGroupBuilder<unknown, unknown>,
  iteration: number | undefined,
  rolled: Effect.Effect<GroupResult, E, R>,
  limit: Duration.Input | undefined
) =>
  limit === undefined
    ? rolled
    : Effect.timeoutOrElse(rolled, {
      duration: limit,
      orElse: () => Effect.succeed(timedOut(builder, iteration ?? 0, limit))
    })

/**
 * Rolls out one group in this process or through the `Executor`. A group found in the `GroupLog` is returned instead; otherwise the result
 * is written to it. A group that exceeds `groupTimeout` is skipped.
 */
export const recorded = <E, R, PE, PR, HE = never, HR = never>(
  builder: EnvGroupBuilder<E, R>,
  policy: Policy.Policy<PE, PR>,
  { groupTimeout, ...options }: RecordedOptions<NoInfer<E>, NoInfer<PE>, HE, HR> = {}
): Effect.Effect<GroupResult, E | PE | HE | RolloutError | InvalidOption, Exclude<R | HR, Scope.Scope> | PR> =>
  Effect.gen(function*() {
    yield* Check.all(Check.option("groupTimeout", groupTimeout, Check.time))
    const executor = yield* Executor.Executor
    const rolled = executor === undefined
      ? group(builder, policy, options)
      : Executor.roll(executor, builder, policy, options)
    return yield* logged(builder.key, options, inTime(builder, options.iteration, rolled, groupTimeout))
  })

/**
 * Rolls out many groups with bounded concurrency, in this process or through the `Executor`. The first group that fails interrupts all
 * others at once; without this, the stream would interrupt them one by one while the others kept sampling. Fails with `InvalidOption`
 * before the first group if two groups share a key or `concurrency` is not a positive integer.
 */
export function stream<B extends EnvGroupBuilder<unknown, unknown>, PE, PR, HE = never, HR = never>(
  builders: ReadonlyArray<B>,
  policy: Policy.Policy<PE, PR>,
  options?: StreamOptions<Env.Error<NoInfer<B>>, NoInfer<PE>, HE, HR>
): Stream.Stream<
  GroupResult,
  Env.Error<B> | PE | HE | RolloutError | InvalidOption,
  Exclude<Env.Requirements<B> | HR, Scope.Scope> | PR
>
export function stream<E, R, PE, PR, HE, HR>(
  builders: ReadonlyArray<EnvGroupBuilder<E, R>>,
  policy: Policy.Policy<PE, PR>,
  options: StreamOptions<E, PE, HE, HR> = {}
) {
  const { concurrency = defaultConcurrency, unordered = false, ...groupOptions } = options
  const invalid = repeatedKey(builders) ?? invalidConcurrency(concurrency)
  if (invalid !== undefined) return Stream.fail(invalid)
  const rolling = Effect.gen(function*() {
    const groups = yield* FiberSet.make<GroupResult, E | PE | HE | RolloutError | InvalidOption>()
    const roll = (builder: EnvGroupBuilder<E, R>) =>
      Effect.flatMap(FiberSet.run(groups, recorded(builder, policy, groupOptions)), Fiber.join)
    return Stream.mapEffect(inTurns(builders), roll, { concurrency, unordered })
  })
  return Stream.unwrap(rolling)
}
