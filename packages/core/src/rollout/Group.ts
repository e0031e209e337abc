/** The members of one group, each in a scope of its own, and then the group's rewards. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import type { EnvGroup, EnvGroupBuilder, GroupReward } from "../env/EnvGroupBuilder.ts"
import * as Limits from "../env/Limits.ts"
import * as TerminationReward from "../env/TerminationReward.ts"
import type { Trajectory } from "../env/Trajectory.ts"
import type * as Policy from "../policy/Policy.ts"
import type { MemberKey } from "../record/Key.ts"
import * as Attempts from "./Attempts.ts"
import * as Episode from "./Episode.ts"
import * as FailurePolicy from "./FailurePolicy.ts"
import type { FailureReport, Group, GroupResult, Skipped } from "./GroupResult.ts"
import type { Hooks } from "./Hooks.ts"
import * as Release from "./Release.ts"
import { GraderTimedOut, MemberTimedOut, type Reason, RolloutError, Violation } from "./RolloutError.ts"

/** What holds for a group wherever it is rolled out. */
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
  /** Longest time to wait for what one member acquired to be released; default 30 seconds. */
  readonly releaseTimeout?: Duration.Input
}

/** What a caller gives: the hooks' errors and requirements add to the environment's. */
export interface Options<in E = unknown, in PE = unknown, HE = never, HR = never> extends Bounds {
  /** Default `FailurePolicy.failFast`. */
  readonly onFailure?: FailurePolicy.FailurePolicy<E | NoInfer<HE>, PE>
  readonly hooks?: Hooks<HE, HR>
}

/** The same with hooks and environment as one. */
interface Settings<E, R, PE> extends Bounds {
  readonly onFailure?: FailurePolicy.FailurePolicy<E, PE>
  readonly hooks?: Hooks<E, R>
}

/** One group being rolled out. */
interface Run<E, R, PE, PR> {
  readonly builder: EnvGroupBuilder<E, R>
  readonly policy: Policy.Policy<PE, PR>
  readonly options: Settings<E, R, PE>
  readonly failures: FailurePolicy.FailurePolicy<E, PE>
  readonly budget: Attempts.Budget
  readonly release: Release.Release
  readonly scope: Scope.Scope
  readonly retried: Array<FailureReport>
  readonly dropped: Array<FailureReport>
}

interface Played {
  readonly members: ReadonlyArray<Option.Option<Trajectory>>
  /** One per member that was not dropped. */
  readonly rewards: ReadonlyArray<GroupReward>
}

const errorOf = ({ key }: { readonly key: string }, member: number, reason: Reason) =>
  new RolloutError({ group: key, member, reason })

const timed = <A, E, PE, R>(
  effect: Effect.Effect<A, FailurePolicy.Failure<E, PE>, R>,
  duration: Duration.Input | undefined,
  late: (limit: string) => RolloutError
): Effect.Effect<A, FailurePolicy.Failure<E, PE>, R> =>
  duration === undefined ? effect : Effect.timeoutOrElse(effect, {
    duration,
    orElse: () =>
      Effect.fail<FailurePolicy.Failure<E, PE>>({
        _tag: "TimedOut",
        error: late(Duration.format(Duration.fromInputUnsafe(duration)))
      })
  })

/** Within the time that opening, or one member, may take. */
const timedMember = <A, E, R, PE, PR, R2>(
  effect: Effect.Effect<A, FailurePolicy.Failure<E, PE>, R2>,
  { builder, options }: Run<E, R, PE, PR>,
  member: number
) => timed(effect, options.memberTimeout, (limit) => errorOf(builder, member, new MemberTimedOut({ limit })))

const attempts = <A, E, R, PE, PR, R2>(
  { budget, failures, retried }: Run<E, R, PE, PR>,
  member: number,
  attempt: (attempt: number) => Effect.Effect<A, FailurePolicy.Failure<E, PE>, R2>
) => Attempts.run(attempt, { member, policy: failures, budget, retried })

const open = <E, R, PE, PR>(run: Run<E, R, PE, PR>) => {
  const opened = Effect.mapError(
    run.builder.open,
    (error): FailurePolicy.Failure<E, PE> => ({ _tag: "AcquireFailed", error })
  )
  return timedMember(opened, run, Attempts.wholeGroup)
}

/** Acquires one member's environment and plays it. */
const play = <E, R, PE, PR>(run: Run<E, R, PE, PR>, group: EnvGroup<E, R>, member: number, attempt: number) => {
  const key: MemberKey = { iteration: run.options.iteration ?? 0, group: run.builder.key, member, attempt }
  const played = group.makeEnv(member).pipe(
    Effect.mapError((error): FailurePolicy.Failure<E, PE> => ({ _tag: "AcquireFailed", error })),
    Effect.flatMap((env) => Episode.run(env, run.policy, key, run.options))
  )
  return timedMember(played, run, member)
}

const rewardsViolation = (rewards: ReadonlyArray<GroupReward>, expected: number) => {
  if (rewards.length !== expected) {
    const found = `${rewards.length} rewards`
    return new Violation({ field: "groupRewards", found, expected: `one per trajectory (${expected})` })
  }
  const index = rewards.findIndex(({ reward }) => !Number.isFinite(reward))
  if (index < 0) return undefined
  const found = String(rewards[index]?.reward)
  return new Violation({ field: `groupRewards[${index}].reward`, found, expected: "a finite number" })
}

const noReward: GroupReward = { reward: 0 }

/** What the group itself says of its members. */
const graded = <E, R, PE, PR>(
  { builder, options }: Run<E, R, PE, PR>,
  group: EnvGroup<E, R>,
  trajectories: ReadonlyArray<Trajectory>
) => {
  if (group.groupRewards === undefined || TerminationReward.skipsGrading(options.termination ?? {}, trajectories)) {
    return Effect.succeed(trajectories.map(() => noReward))
  }
  const failed = (error: E | RolloutError): FailurePolicy.Failure<E, PE> => ({ _tag: "GraderFailed", error })
  const rewarded = group.groupRewards(trajectories).pipe(
    Effect.mapError(failed),
    Effect.tap((rewards) => {
      const reason = rewardsViolation(rewards, trajectories.length)
      return reason === undefined ? Effect.void : Effect.fail(failed(errorOf(builder, Attempts.wholeGroup, reason)))
    })
  )
  return timed(
    rewarded,
    options.graderTimeout ?? options.memberTimeout,
    (limit) => errorOf(builder, Attempts.wholeGroup, new GraderTimedOut({ limit }))
  )
}

/** The members' rewards from the group, after what their endings are worth. */
const grade = <E, R, PE, PR>(run: Run<E, R, PE, PR>, group: EnvGroup<E, R>, members: Played["members"]) => {
  const trajectories = members.flatMap((member) => Option.toArray(member))
  if (trajectories.length === 0) return Effect.succeed([])
  const { termination } = run.options
  const rewarded = graded(run, group, trajectories)
  return termination === undefined ?
    rewarded :
    Effect.map(
      rewarded,
      (rewards) =>
        trajectories.map((trajectory, index) =>
          TerminationReward.apply(termination, trajectory, rewards[index] ?? noReward)
        )
    )
}

const forEachMember = <A, E, R>(size: number, f: (member: number) => Effect.Effect<A, E, R>) =>
  Effect.forEach(Array.from({ length: size }, (_, member) => member), f, { concurrency: "unbounded" })

const belowFloor = <E, R, PE, PR>({ budget: { enough, finished }, builder, failures }: Run<E, R, PE, PR>) => {
  if (failures.minSuccessful === undefined || finished >= enough) return undefined
  const message = `${finished} of ${builder.size} members finished, ${enough} must`
  return { failure: "BelowFloor", finished, floor: enough, message } as const
}

/** Members fail and are retried one by one. */
const independent = Effect.fnUntraced(function*<E, R, PE, PR>(run: Run<E, R, PE, PR>) {
  const drop = (report: FailureReport) =>
    Effect.sync(() => {
      run.dropped.push(report)
      return Option.none<Trajectory>()
    })
  const opening = attempts(
    run,
    Attempts.wholeGroup,
    () => Release.inChildScope(run.scope, run.release, Attempts.wholeGroup, open(run))
  )
  const group = yield* Attempts.settle(opening, run.failures, Attempts.skip)
  const scope = yield* Scope.fork(run.scope, "parallel")
  const members = yield* forEachMember(run.builder.size, (member) => {
    const played = attempts(
      run,
      member,
      (attempt) => Release.inChildScope(scope, run.release, member, play(run, group, member, attempt))
    )
    const finished = Effect.map(played, (trajectory) => {
      run.budget.finished++
      return Option.some(trajectory)
    })
    return Attempts.settle(finished, run.failures, drop)
  })
  const missed = belowFloor(run)
  if (missed !== undefined) return yield* Attempts.skip(missed)
  const rewarded = attempts(run, Attempts.wholeGroup, () => grade(run, group, members))
  const rewards = yield* Attempts.settle(rewarded, run.failures, Attempts.skip)
  return { members, rewards } satisfies Played
})

/** Members fail and are retried together, from opening the group on. */
const coupled = <E, R, PE, PR>(run: Run<E, R, PE, PR>) => {
  const whole = Effect.fnUntraced(function*(attempt: number) {
    const group = yield* open(run)
    const scope = yield* Scope.fork(yield* Effect.scope, "parallel")
    const played = yield* forEachMember(
      run.builder.size,
      (member) =>
        Effect.flatMap(
          Release.childScope(scope, run.release, member),
          (held) => Scope.provide(Attempts.caught(play(run, group, member, attempt)), held)
        )
    )
    const members = played.map((trajectory) => Option.some(trajectory))
    return { members, rewards: yield* grade(run, group, members) } satisfies Played
  })
  const attempted = attempts(
    run,
    Attempts.wholeGroup,
    (attempt) => Release.inChildScope(run.scope, run.release, Attempts.wholeGroup, whole(attempt))
  )
  return Attempts.settle(attempted, run.failures, Attempts.skip)
}

/** Members report in the order they finish; results do not depend on it. */
const inOrder = (reports: ReadonlyArray<FailureReport>) =>
  reports.toSorted((a, b) => a.member - b.member || a.attempt - b.attempt)

const skipped = <E, R, PE, PR>({ builder, dropped }: Run<E, R, PE, PR>, reason: Skipped["reason"]): Skipped => ({
  _tag: "Skipped",
  key: builder.key,
  tags: builder.tags,
  size: builder.size,
  reason,
  dropped: inOrder(dropped)
})

const result = <E, R, PE, PR>(run: Run<E, R, PE, PR>, { members, rewards }: Played): GroupResult => {
  const dropped = inOrder(run.dropped)
  const [firstDropped] = dropped
  if (firstDropped !== undefined && members.every(Option.isNone)) return skipped(run, firstDropped)
  const rewardsG = new Float64Array(members.length).fill(NaN)
  const metricsG = members.map((): Group["metricsG"][number] => ({}))
  let survivor = 0
  for (const [index, member] of members.entries()) {
    if (Option.isNone(member)) continue
    const given = rewards[survivor++]
    rewardsG[index] = member.value.stepReward + (given?.reward ?? 0)
    metricsG[index] = given?.metrics ?? {}
  }
  const { key, tags } = run.builder
  const group: Group = {
    key,
    tags,
    samplerStep: run.options.samplerStep ?? 0,
    members,
    rewardsG,
    metricsG,
    retried: inOrder(run.retried)
  }
  return dropped.length === 0 ? { _tag: "Completed", ...group } : { _tag: "Partial", ...group, dropped }
}

/** Everything the group acquires goes into the run's scope. */
const rollIn = <E, R, PE, PR>(run: Run<E, R, PE, PR>) => {
  const played = run.builder.coupled === true ? coupled(run) : independent(run)
  return played.pipe(
    Effect.map((played) => result(run, played)),
    Effect.catch((stop): Effect.Effect<GroupResult, E | PE | RolloutError> =>
      stop._tag === "Skip" ? Effect.succeed(skipped(run, stop.reason)) : FailurePolicy.raise(stop.failure)
    ),
    Scope.provide(run.scope)
  )
}

const isCount = (value: number) => Number.isSafeInteger(value) && value >= 1

/** What no group can be rolled out with. */
const violation = (size: number, options: Bounds, floor: number): Violation | undefined => {
  const wrong = (field: string, found: unknown, expected: string) =>
    new Violation({ field, found: String(found), expected })
  if (!isCount(size)) return wrong("size", size, "a whole number of at least 1")
  const limit = Limits.invalid(options.limits ?? Limits.unlimited)
  if (limit !== undefined) return wrong(`limits.${limit.field}`, limit.value, limit.expected)
  for (const field of ["memberTimeout", "graderTimeout", "releaseTimeout"] as const) {
    const value = options[field]
    if (value !== undefined && !Limits.isTime(value)) return wrong(field, value, Limits.expectedTime)
  }
  if (isCount(floor) && floor <= size) return undefined
  return wrong("onFailure.minSuccessful", floor, `a whole number from 1 to the group's size of ${size}`)
}

const defaultReleaseTimeout = Duration.seconds(30)

/** Rolls out one group; everything it acquired is released when it returns, fails or is interrupted. */
export const roll = <E, R, PE, PR>(
  builder: EnvGroupBuilder<E, R>,
  policy: Policy.Policy<PE, PR>,
  options: Settings<E, R, PE>
): Effect.Effect<GroupResult, E | PE | RolloutError, Exclude<R, Scope.Scope> | PR> =>
  Effect.suspend(() => {
    const failures = options.onFailure ?? FailurePolicy.failFast
    const wrong = violation(builder.size, options, failures.minSuccessful?.(builder.size) ?? builder.size)
    if (wrong !== undefined) return Effect.fail(errorOf(builder, Attempts.wholeGroup, wrong))
    const scope = Scope.makeUnsafe()
    const release: Release.Release = {
      group: builder.key,
      timeout: Duration.fromInputUnsafe(options.releaseTimeout ?? defaultReleaseTimeout),
      aborts: failures.otherwise.Died === "abort"
    }
    const budget = Attempts.budget(failures, builder.size)
    return rollIn({ builder, policy, options, failures, budget, release, scope, retried: [], dropped: [] }).pipe(
      Effect.onExit((exit) => Release.close(scope, exit, release, Attempts.wholeGroup))
    )
  })
