/** Rolls out one group: its members, each in its own scope, then the group's rewards. */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import type { EnvGroup, EnvGroupBuilder, GroupReward } from "../env/EnvGroupBuilder.ts"
import * as Grader from "../env/Grader.ts"
import * as Limits from "../env/Limits.ts"
import * as TerminationReward from "../env/message/TerminationReward.ts"
import type { Trajectory } from "../env/Trajectory.ts"
import type * as Policy from "../policy/Policy.ts"
import * as Key from "../records/Key.ts"
import type { MemberKey } from "../records/Key.ts"
import * as Score from "../records/Score.ts"
import * as Check from "../settings/Check.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as Setting from "../settings/Setting.ts"
import * as Attempts from "./Attempts.ts"
import * as Episode from "./Episode.ts"
import * as FailedMember from "./FailedMember.ts"
import * as FailurePolicy from "./FailurePolicy.ts"
import type { FailureReport, GradingTime, Group, GroupResult, Skipped } from "./GroupResult.ts"
import type { Hooks } from "./Hooks.ts"
import { MemberTimedOut, type Reason, RolloutError, Violation } from "./RolloutError.ts"

/** The time limit of a group's rollout. */
export const DeadlineSettings = Schema.Struct({
  /**
   * Longest time for all attempts at one problem, from its opening to its rewards; a group that takes longer is skipped. Unless given,
   * unbounded if pace is synchronous, and otherwise 1 hour.
   */
  groupTimeout: Setting.duration({
    help:
      "Longest time for all attempts at one problem, from its opening to its rewards; a group that takes longer is skipped. Unless given, unbounded if pace is synchronous, and otherwise 1 hour"
  })
})
export interface Deadline extends Schema.Codec.Encoded<typeof DeadlineSettings> {}

/** The options that can be sent to another process. */
export const BoundSettings = Schema.Struct({
  /** Part of every key and seed; 0 unless given. */
  iteration: Setting.int({ least: 0, help: "Part of every key and seed; 0 unless given" }),
  /** The run's seed, from which environments and graders derive theirs; 0 unless given. The policy has a seed of its own. */
  seed: Setting.int({
    least: 0,
    help:
      "The run's seed, from which environments and graders derive theirs; 0 unless given. The policy has a seed of its own"
  }),
  /** Optimizer steps that led to the policy's weights; 0 unless given. */
  samplerStep: Setting.int({ least: 0, help: "Optimizer steps that led to the policy's weights; 0 unless given" }),
  limits: Setting.group(Limits.LimitSettings),
  termination: Setting.group(TerminationReward.TerminationSettings),
  /** Longest time for opening a group, and for one attempt; unbounded unless given. */
  memberTimeout: Setting.duration({
    help: "Longest time for opening a group, and for one attempt; unbounded unless given"
  }),
  /** Longest time for a group's rewards, and for a grader; unless given, memberTimeout for the rewards, and 10 minutes otherwise. */
  graderTimeout: Setting.duration({
    help:
      "Longest time for a group's rewards, and for a grader; unless given, memberTimeout for the rewards, and 10 minutes otherwise"
  }),
  /**
   * Longest time to wait for an attempt's releases once it is over, and with a memberTimeout also for its acquisitions; 30 seconds unless
   * given.
   */
  releaseTimeout: Setting.duration({
    help:
      "Longest time to wait for an attempt's releases once it is over, and with a memberTimeout also for its acquisitions; 30 seconds unless given"
  })
})
export interface Bounds extends Schema.Codec.Encoded<typeof BoundSettings> {}

/** Options of a group's rollout. The errors and requirements of hooks are added to the environment's. */
export interface Options<in E = unknown, in PE = unknown, HE = never, HR = never> extends Bounds {
  /** What happens when a member fails; default: `FailurePolicy.dropUngraded`. */
  readonly onFailure?: FailurePolicy.FailurePolicy<E | NoInfer<HE>, PE>
  /** Effects to run around members and the group. Default: none. */
  readonly hooks?: Hooks<HE, HR>
}

/** Options whose hooks have the environment's error and requirement types. */
interface Settings<E, R, PE> extends Bounds {
  readonly onFailure?: FailurePolicy.FailurePolicy<E, PE>
  readonly hooks?: Hooks<E, R>
}

const checks = Setting.checks(BoundSettings)

/** The error of the first invalid option; undefined if all are valid. */
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
      expected: "a number of at least 0",
      accepts: (value) => value >= 0
    }),
    Check.option("onFailure.minSuccessful", sizeIsValid.holds ? minSuccessful?.(size) : undefined, Check.whole(1, size))
  ])
}

/** The error of an invalid number of concurrent groups; undefined if the number is valid. */
export const invalidConcurrency = (concurrency: number): InvalidOption | undefined =>
  Check.broken([Check.option("concurrency", concurrency, Check.whole(1))])

const rewardsViolation = (rewards: ReadonlyArray<GroupReward>, count: number) => {
  if (rewards.length !== count) {
    const found = `${rewards.length} rewards`
    return new Violation({ field: "groupRewards", found, expected: `one per trajectory (${count})` })
  }
  for (const [index, reward] of rewards.entries()) {
    const invalid = Episode.invalidNumber(reward)
    if (invalid === undefined) continue
    const { expected, field, found } = invalid
    return new Violation({ field: `groupRewards[${index}].${field}`, found: String(found), expected })
  }
  return undefined
}

const noReward: GroupReward = { reward: 0 }

/** An opened group, and the options of its rollout. */
interface Asked<E, R> {
  readonly key: string
  readonly group: EnvGroup<E, R>
  readonly options: Bounds
  readonly release: Attempts.Release
  readonly attempt: number
}

/** Computes the rewards of the group itself. */
const graded = <E, R>(
  { attempt, group, key, options, release }: Asked<E, R>,
  trajectories: ReadonlyArray<Trajectory>
) => {
  if (group.groupRewards === undefined || TerminationReward.skipsGrading(options.termination ?? {}, trajectories)) {
    return Effect.succeed(trajectories.map(() => noReward))
  }
  const { iteration = 0, seed = 0 } = options
  const given = Key.groupAttempt(seed, { iteration, group: key, attempt })
  const errorOf = (reason: Reason) => new RolloutError({ group: key, member: Attempts.wholeGroup, reason })
  const failed = (error: E | RolloutError) => ({ _tag: "GraderFailed", error }) as const
  const rewarded = group.groupRewards(trajectories, given).pipe(
    Effect.mapError(failed),
    Effect.tap((rewards) => {
      const reason = rewardsViolation(rewards, trajectories.length)
      return reason === undefined ? Effect.void : Effect.fail(failed(errorOf(reason)))
    })
  )
  const limit = options.graderTimeout ?? options.memberTimeout
  const abandonable = Grader.run(Attempts.abandonable(rewarded, release, Attempts.wholeGroup))
  return limit === undefined ? abandonable : Effect.provideService(abandonable, Grader.GraderTimeout, limit)
}

/** The group's rewards, one per trajectory, adjusted for how the episodes ended. */
const rewardsOf = <E, R>(
  asked: Asked<E, R>,
  trajectories: ReadonlyArray<Trajectory>
): Effect.Effect<ReadonlyArray<GroupReward>, FailurePolicy.Failure<E, never>, R> => {
  if (trajectories.length === 0) return Effect.succeed([])
  const { termination } = asked.options
  const rewarded = graded(asked, trajectories)
  if (termination === undefined) return rewarded
  return Effect.map(
    rewarded,
    (rewards) =>
      trajectories.map((trajectory, index) =>
        TerminationReward.apply(termination, trajectory, rewards[index] ?? noReward)
      )
  )
}

/** The rollout of one group in progress. */
interface Run<E, R, PE, PR> {
  readonly builder: EnvGroupBuilder<E, R>
  readonly policy: Policy.Policy<PE, PR>
  readonly options: Settings<E, R, PE>
  readonly failures: FailurePolicy.FailurePolicy<E, PE>
  readonly budget: Attempts.Budget
  readonly release: Attempts.Release
  readonly scope: Scope.Scope
  readonly retried: Array<FailureReport>
  readonly dropped: Array<FailureReport>
}

interface Graded {
  /** One reward per member that was not dropped, in order. */
  readonly rewards: ReadonlyArray<GroupReward>
  readonly grading: GradingTime
}

interface Played extends Graded {
  readonly members: ReadonlyArray<Option.Option<Trajectory>>
}

const errorOf = ({ key }: { readonly key: string }, member: number, reason: Reason) =>
  new RolloutError({ group: key, member, reason })

const placeOf = <E, R, PE, PR>(
  { builder: { key }, options }: Run<E, R, PE, PR>,
  member: number
): FailedMember.Place => ({
  iteration: options.iteration ?? 0,
  group: key,
  ...(member === Attempts.wholeGroup ? {} : { member })
})

const nameOf = <E, R, PE, PR>(run: Run<E, R, PE, PR>, member: number) => FailedMember.text(placeOf(run, member))

/** Limits the time to open a group or to play one member. */
const timedMember = <A, E, R, PE, PR, R2>(
  effect: Effect.Effect<A, FailurePolicy.Failure<E, PE>, R2>,
  { builder, options: { memberTimeout }, release }: Run<E, R, PE, PR>,
  member: number
) =>
  memberTimeout === undefined
    ? effect
    : Episode.within(
      Attempts.abandonable(effect, release, member),
      memberTimeout,
      (limit) => errorOf(builder, member, new MemberTimedOut({ limit }))
    )

const attempts = <A, E, R, PE, PR, R2>(
  { budget, builder, failures, retried }: Run<E, R, PE, PR>,
  member: number,
  attempt: (attempt: number) => Effect.Effect<A, FailurePolicy.Failure<E, PE>, R2>
) => Attempts.run(attempt, { group: builder.key, member, policy: failures, budget, retried })

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
  const played = group.makeEnv(member, Key.memberAttempt(run.options.seed ?? 0, key)).pipe(
    Effect.mapError((error): FailurePolicy.Failure<E, PE> => ({ _tag: "AcquireFailed", error })),
    Effect.flatMap((env) => Episode.run(env, run.policy, key, run.options)),
    Effect.provideService(Grader.Graded, nameOf(run, member))
  )
  return timedMember(played, run, member)
}

const grade = <E, R, PE, PR>(
  run: Run<E, R, PE, PR>,
  group: EnvGroup<E, R>,
  members: Played["members"],
  attempt: number
) =>
  Effect.gen(function*() {
    const { builder, options, release } = run
    const began = yield* Clock.currentTimeMillis
    const rewards = yield* rewardsOf(
      { key: builder.key, group, options, release, attempt },
      members.flatMap((member) => Option.toArray(member))
    ).pipe(Effect.provideService(Grader.Graded, nameOf(run, Attempts.wholeGroup)))
    const graded: Graded = { rewards, grading: { began, milliseconds: (yield* Clock.currentTimeMillis) - began } }
    return graded
  })

/** Logs a grader failure that does not end the run, once per group. */
const logUngraded = <E, R, PE, PR>(run: Run<E, R, PE, PR>, reason: Skipped["reason"]) =>
  reason.failure === "Ungraded" && run.dropped.length === 0
    ? Effect.logWarning(`iteration ${(run.options.iteration ?? 0) + 1}: left out: ${reason.message}`)
    : Effect.void

const forEachMember = <A, E, R>(size: number, f: (member: number) => Effect.Effect<A, E, R>) =>
  Effect.forEach(Array.from({ length: size }, (_, member) => member), f, { concurrency: "unbounded" })

const belowFloor = <E, R, PE, PR>({ budget: { enough, finished }, builder, failures }: Run<E, R, PE, PR>) => {
  if (failures.minSuccessful === undefined || finished >= enough) return undefined
  const message = `${finished} of ${builder.size} members finished, ${enough} must`
  return { failure: "BelowFloor", finished, floor: enough, message } as const
}

/** Plays a group whose members fail and are retried independently. */
const independent = Effect.fnUntraced(function*<E, R, PE, PR>(run: Run<E, R, PE, PR>) {
  const drop = (report: FailureReport) =>
    Effect.map(logUngraded(run, report), () => {
      run.dropped.push(report)
      return Option.none<Trajectory>()
    })
  const opening = attempts(
    run,
    Attempts.wholeGroup,
    () => Attempts.inChildScope(run.scope, run.release, Attempts.wholeGroup, open(run))
  )
  const group = yield* Attempts.settle(opening, run.failures, Attempts.skip)
  const scope = yield* Scope.fork(run.scope, "parallel")
  const members = yield* forEachMember(run.builder.size, (member) => {
    const played = attempts(
      run,
      member,
      (attempt) => Attempts.inChildScope(scope, run.release, member, play(run, group, member, attempt))
    )
    const finished = Effect.map(played, (trajectory) => {
      run.budget.finished++
      return Option.some(trajectory)
    })
    return Attempts.settle(finished, run.failures, drop)
  })
  const missed = belowFloor(run)
  if (missed !== undefined) return yield* Attempts.skip(missed)
  const rewarded = attempts(run, Attempts.wholeGroup, (attempt) => grade(run, group, members, attempt))
  const graded = yield* Attempts.settle(rewarded, run.failures, Attempts.skip)
  return { members, ...graded } satisfies Played
})

/** Plays a group whose members fail and are retried together; a retry opens the group again. */
const coupled = <E, R, PE, PR>(run: Run<E, R, PE, PR>) => {
  const whole = Effect.fnUntraced(function*(attempt: number) {
    const group = yield* open(run)
    const scope = yield* Scope.fork(yield* Effect.scope, "parallel")
    const played = yield* forEachMember(
      run.builder.size,
      (member) =>
        Effect.flatMap(
          Attempts.childScope(scope, run.release, member),
          (held) =>
            Scope.provide(Attempts.caught(play(run, group, member, attempt), { group: run.builder.key, member }), held)
        )
    )
    const members = played.map((trajectory) => Option.some(trajectory))
    return { members, ...(yield* grade(run, group, members, attempt)) } satisfies Played
  })
  const attempted = attempts(
    run,
    Attempts.wholeGroup,
    (attempt) => Attempts.inChildScope(run.scope, run.release, Attempts.wholeGroup, whole(attempt))
  )
  return Attempts.settle(attempted, run.failures, Attempts.skip)
}

/** Sorts reports, because members report in the order in which they finish. */
const inOrder = (reports: ReadonlyArray<FailureReport>) =>
  reports.toSorted((a, b) => a.member - b.member || a.attempt - b.attempt)

const skipped = <E, R, PE, PR>(
  { builder, dropped, options }: Run<E, R, PE, PR>,
  reason: Skipped["reason"]
): Skipped => ({
  _tag: "Skipped",
  iteration: options.iteration ?? 0,
  key: builder.key,
  tags: builder.tags,
  size: builder.size,
  reason,
  dropped: inOrder(dropped)
})

const result = <E, R, PE, PR>(run: Run<E, R, PE, PR>, { grading, members, rewards }: Played): GroupResult => {
  const dropped = inOrder(run.dropped)
  const [firstDropped] = dropped
  if (firstDropped !== undefined && members.every(Option.isNone)) return skipped(run, firstDropped)
  const rewardsG = new Float64Array(members.length).fill(NaN)
  const metricsG = members.map((): Group["metricsG"][number] => ({}))
  const scoresG = members.map((): Score.Score | undefined => undefined)
  let survivor = 0
  for (const [index, member] of members.entries()) {
    if (Option.isNone(member)) continue
    const given = rewards[survivor++]
    rewardsG[index] = member.value.stepReward + (given?.reward ?? 0)
    scoresG[index] = given?.score
    metricsG[index] = Score.withCorrect(given?.score, given?.metrics ?? {})
  }
  const { key, tags } = run.builder
  const group: Group = {
    iteration: run.options.iteration ?? 0,
    key,
    tags,
    samplerStep: run.options.samplerStep ?? 0,
    members,
    rewardsG,
    metricsG,
    ...(scoresG.some((score) => score !== undefined) && { scoresG }),
    retried: inOrder(run.retried),
    ...(grading.milliseconds > 0 && { grading })
  }
  return dropped.length === 0 ? { _tag: "Completed", ...group } : { _tag: "Partial", ...group, dropped }
}

/** Applies the grader timeout also to the graders inside environments. */
const withGraderTimeout = ({ graderTimeout }: Bounds) => <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  graderTimeout === undefined ? effect : Effect.provideService(effect, Grader.GraderTimeout, graderTimeout)

/** Raises a failure and annotates it with the member or group that failed. For a defect, the message names them. */
const raise = <E, R, PE, PR>(
  run: Run<E, R, PE, PR>,
  { failure, report }: Extract<Attempts.Stop<E, PE>, { _tag: "Abort" }>
) =>
  failure._tag === "Died"
    ? Effect.die(new Error(`${nameOf(run, report.member)}: ${report.message}`, { cause: Cause.squash(failure.cause) }))
    : FailedMember.at(placeOf(run, report.member))(FailurePolicy.raise(failure))

/** Rolls out the group; its resources belong to the run's scope. */
const rollIn = <E, R, PE, PR>(run: Run<E, R, PE, PR>) => {
  const played = run.builder.coupled === true ? coupled(run) : independent(run)
  return withGraderTimeout(run.options)(played).pipe(
    Effect.map((played) => result(run, played)),
    Effect.catch((stop): Effect.Effect<GroupResult, E | PE | RolloutError> =>
      stop._tag === "Skip"
        ? Effect.as(logUngraded(run, stop.reason), skipped(run, stop.reason))
        : raise(run, stop)
    ),
    Scope.provide(run.scope)
  )
}

const defaultReleaseTimeout = Duration.seconds(30)

/** Rolls out one group. All acquired resources are released when it returns, fails or is interrupted. */
export const roll = <E, R, PE, PR>(
  builder: EnvGroupBuilder<E, R>,
  policy: Policy.Policy<PE, PR>,
  options: Settings<E, R, PE>
): Effect.Effect<GroupResult, E | PE | RolloutError | InvalidOption, Exclude<R, Scope.Scope> | PR> =>
  Effect.suspend(
    (): Effect.Effect<GroupResult, E | PE | RolloutError | InvalidOption, Exclude<R, Scope.Scope> | PR> => {
      const failures: FailurePolicy.FailurePolicy<E, PE> = options.onFailure ?? FailurePolicy.dropUngraded
      const refused = invalid(builder, options, failures)
      if (refused !== undefined) return Effect.fail(refused)
      const scope = Scope.makeUnsafe()
      const release: Attempts.Release = {
        group: builder.key,
        timeout: Duration.fromInputUnsafe(options.releaseTimeout ?? defaultReleaseTimeout),
        aborts: failures.otherwise.Died === "abort"
      }
      const budget = Attempts.budget(failures, builder.size)
      return rollIn({ builder, policy, options, failures, budget, release, scope, retried: [], dropped: [] }).pipe(
        Effect.onExit((exit) => Attempts.close(scope, exit, release, Attempts.wholeGroup))
      )
    }
  )
