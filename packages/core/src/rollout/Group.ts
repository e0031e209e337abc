/** The members of one group, each in a scope of its own, and then the group's rewards. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import type { EnvGroup, EnvGroupBuilder, GroupReward } from "../env/EnvGroupBuilder.ts"
import type { Trajectory } from "../env/Trajectory.ts"
import type * as Policy from "../policy/Policy.ts"
import type { MemberKey } from "../record/Key.ts"
import * as Attempts from "./Attempts.ts"
import * as Episode from "./Episode.ts"
import * as FailurePolicy from "./FailurePolicy.ts"
import type { FailureReport, Group, GroupResult, Skipped } from "./GroupResult.ts"
import { MemberTimedOut, RolloutError, Violation } from "./RolloutError.ts"

export interface Options<in E = unknown, in PE = unknown> {
  /** Part of every key and seed; default 0. */
  readonly iteration?: number
  /** Optimizer steps behind the policy's weights; default 0. */
  readonly samplerStep?: number
  /** Default `FailurePolicy.failFast`. */
  readonly onFailure?: FailurePolicy.FailurePolicy<E, PE>
  /** Longest time for acquiring and playing one member, and for the group's rewards; unbounded unless given. */
  readonly memberTimeout?: Duration.Input
}

/** One group being rolled out. */
interface Run<E, R, PE, PR> {
  readonly builder: EnvGroupBuilder<E, R>
  readonly policy: Policy.Policy<PE, PR>
  readonly options: Options<E, PE>
  readonly failures: FailurePolicy.FailurePolicy<E, PE>
  readonly scope: Scope.Scope
  readonly retried: Array<FailureReport>
  readonly dropped: Array<FailureReport>
}

interface Played {
  readonly members: ReadonlyArray<Option.Option<Trajectory>>
  /** One per member that was not dropped. */
  readonly rewards: ReadonlyArray<GroupReward>
}

const timed = <A, E, PE, R>(
  effect: Effect.Effect<A, FailurePolicy.Failure<E, PE>, R>,
  run: { readonly builder: { readonly key: string }; readonly options: { readonly memberTimeout?: Duration.Input } },
  member: number
) => {
  const duration = run.options.memberTimeout
  if (duration === undefined) return effect
  const reason = new MemberTimedOut({ limit: Duration.format(Duration.fromInputUnsafe(duration)) })
  const failure: FailurePolicy.Failure<E, PE> = {
    _tag: "TimedOut",
    error: new RolloutError({ group: run.builder.key, member, reason })
  }
  return Effect.timeoutOrElse(effect, { duration, orElse: () => Effect.fail(failure) })
}

const attempts = <A, E, R, PE, PR, R2>(
  run: Run<E, R, PE, PR>,
  member: number,
  attempt: (attempt: number) => Effect.Effect<A, FailurePolicy.Failure<E, PE>, R2>
) => Attempts.run(attempt, { member, policy: run.failures, retried: run.retried })

const inChildScope = <A, E, R, PE, PR, E2, R2>(run: Run<E, R, PE, PR>, effect: Effect.Effect<A, E2, R2>) =>
  Attempts.inChildScope(run.scope, run.failures.otherwise, effect)

const open = <E, R, PE, PR>({ builder }: Run<E, R, PE, PR>) =>
  Effect.mapError(builder.open, (error): FailurePolicy.Failure<E, PE> => ({ _tag: "AcquireFailed", error }))

/** Acquires one member's environment and plays it. */
const play = <E, R, PE, PR>(run: Run<E, R, PE, PR>, group: EnvGroup<E, R>, member: number, attempt: number) => {
  const key: MemberKey = { iteration: run.options.iteration ?? 0, group: run.builder.key, member, attempt }
  const played = group.makeEnv(member).pipe(
    Effect.mapError((error): FailurePolicy.Failure<E, PE> => ({ _tag: "AcquireFailed", error })),
    Effect.flatMap((env) => Episode.run(env, run.policy, key))
  )
  return timed(played, run, member)
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

const grade = <E, R, PE, PR>(run: Run<E, R, PE, PR>, group: EnvGroup<E, R>, members: Played["members"]) => {
  const trajectories = members.flatMap((member) => Option.toArray(member))
  if (group.groupRewards === undefined || trajectories.length === 0) return Effect.succeed([])
  const failed = (error: E | RolloutError): FailurePolicy.Failure<E, PE> => ({ _tag: "GraderFailed", error })
  const graded = group.groupRewards(trajectories).pipe(
    Effect.mapError(failed),
    Effect.tap((rewards) => {
      const reason = rewardsViolation(rewards, trajectories.length)
      return reason === undefined
        ? Effect.void
        : Effect.fail(failed(new RolloutError({ group: run.builder.key, member: Attempts.wholeGroup, reason })))
    })
  )
  return timed(graded, run, Attempts.wholeGroup)
}

const forEachMember = <A, E, R>(size: number, f: (member: number) => Effect.Effect<A, E, R>) =>
  Effect.forEach(Array.from({ length: size }, (_, member) => member), f, { concurrency: "unbounded" })

/** Members fail and are retried one by one. */
const independent = Effect.fnUntraced(function*<E, R, PE, PR>(run: Run<E, R, PE, PR>) {
  const drop = (report: FailureReport) =>
    Effect.sync(() => {
      run.dropped.push(report)
      return Option.none<Trajectory>()
    })
  const opened = attempts(run, Attempts.wholeGroup, () => inChildScope(run, open(run)))
  const group = yield* Attempts.settle(opened, run.failures, Attempts.skip)
  const members = yield* forEachMember(run.builder.size, (member) => {
    const played = attempts(
      run,
      member,
      (attempt) => inChildScope(run, play(run, group, member, attempt))
    )
    return Attempts.settle(Effect.map(played, Option.some), run.failures, drop)
  })
  const graded = attempts(run, Attempts.wholeGroup, () => grade(run, group, members))
  const rewards = yield* Attempts.settle(graded, run.failures, Attempts.skip)
  return { members, rewards } satisfies Played
})

/** Members fail and are retried together, from opening the group on. */
const coupled = <E, R, PE, PR>(run: Run<E, R, PE, PR>) => {
  const whole = Effect.fnUntraced(function*(attempt: number) {
    const group = yield* open(run)
    const played = yield* forEachMember(run.builder.size, (member) => play(run, group, member, attempt))
    const members = played.map((trajectory) => Option.some(trajectory))
    return { members, rewards: yield* grade(run, group, members) } satisfies Played
  })
  const attempted = attempts(run, Attempts.wholeGroup, (attempt) => inChildScope(run, whole(attempt)))
  return Attempts.settle(attempted, run.failures, Attempts.skip)
}

const skipped = ({ key, size, tags }: EnvGroupBuilder<unknown, unknown>, reason: FailureReport): Skipped => ({
  _tag: "Skipped",
  key,
  tags,
  size,
  reason
})

/** Members report in the order they finish; results do not depend on it. */
const inOrder = (reports: ReadonlyArray<FailureReport>) =>
  reports.toSorted((a, b) => a.member - b.member || a.attempt - b.attempt)

const result = <E, R, PE, PR>(run: Run<E, R, PE, PR>, { members, rewards }: Played): GroupResult => {
  const dropped = inOrder(run.dropped)
  const [firstDropped] = dropped
  if (firstDropped !== undefined && members.every(Option.isNone)) return skipped(run.builder, firstDropped)
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
      stop._tag === "Skip" ? Effect.succeed(skipped(run.builder, stop.report)) : FailurePolicy.raise(stop.failure)
    ),
    Scope.provide(run.scope)
  )
}

const sizeViolation = ({ key, size }: EnvGroupBuilder<unknown, unknown>) => {
  const reason = new Violation({ field: "size", found: String(size), expected: "a whole number of at least 1" })
  return new RolloutError({ group: key, member: Attempts.wholeGroup, reason })
}

/** Rolls out one group; everything it acquired is released when it returns, fails or is interrupted. */
export const roll = <E, R, PE, PR>(
  builder: EnvGroupBuilder<E, R>,
  policy: Policy.Policy<PE, PR>,
  options: Options<E, PE>
): Effect.Effect<GroupResult, E | PE | RolloutError, Exclude<R, Scope.Scope> | PR> =>
  Effect.suspend(() => {
    if (!Number.isSafeInteger(builder.size) || builder.size < 1) return Effect.fail(sizeViolation(builder))
    const failures = options.onFailure ?? FailurePolicy.failFast
    const scope = Scope.makeUnsafe()
    return rollIn({ builder, policy, options, failures, scope, retried: [], dropped: [] }).pipe(
      Effect.onExit((exit) => Attempts.close(scope, exit, failures.otherwise))
    )
  })
