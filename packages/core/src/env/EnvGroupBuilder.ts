/** Builds groups of environments whose rewards are compared with each other. */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import type * as EnvMetric from "../records/EnvMetric.ts"
import type { Attempt } from "../records/Key.ts"
import type { Score } from "../records/Score.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import type * as Env from "./Env.ts"
import type { Trajectory } from "./Trajectory.ts"

/** A member's reward from the comparison of the whole group. It is added to the rewards of the member's steps. */
export interface GroupReward {
  readonly reward: number
  /** The judgement behind the reward. Default: a score whose value is the reward. */
  readonly score?: Score
  readonly metrics?: EnvMetric.Metrics
}

/**
 * An open group. Its members are acquired concurrently, each in its own scope, which closes when the member fails, or else after the
 * group's rewards have been computed.
 */
export interface EnvGroup<out E = never, out R = never> {
  /**
   * Makes a member's environment. `attempt.seed` is the seed of everything random in it; `attempt.key` is the prefix of the keys of its
   * model requests.
   */
  readonly makeEnv: (member: number, attempt: Attempt) => Effect.Effect<Env.Env<E, R>, E, R | Scope.Scope>
  /** One reward per trajectory, in the same order. If absent, members only earn the rewards of their steps. */
  readonly groupRewards?: (
    trajectories: ReadonlyArray<Trajectory>,
    attempt: Attempt
  ) => Effect.Effect<ReadonlyArray<GroupReward>, E, R>
}

/** The name of a `RolloutTask` and its payload as JSON, from which another process can build the group. */
export interface TaskDescription {
  readonly name: string
  readonly payload: Schema.Json
}

/**
 * Opens a group of environments. `key` must be unique within a batch and the same in every run, because seeds are derived from it.
 *
 * @see tinker-cookbook `EnvGroupBuilder`
 */
export interface EnvGroupBuilder<out E = never, out R = never> {
  readonly key: string
  readonly size: number
  readonly tags: ReadonlyArray<string>
  /**
   * A text that distinguishes groups beyond key, size and tags, such as the prompt format or the reward's name. It is part of the dataset's
   * fingerprint.
   */
  readonly form?: string
  /** The source text of the functions that make and grade the members, as far as it is known. */
  readonly code?: string
  /** Members share one episode (self-play): they run at the same time or not at all, and are retried together. */
  readonly coupled?: boolean
  /**
   * The task and payload from which a `RolloutTask` made the builder. A copy that changes anything but `key` must leave this out, because
   * another process builds the group from the payload alone.
   */
  readonly task?: Result.Result<TaskDescription, InvalidOption>
  readonly open: Effect.Effect<EnvGroup<E, R>, E, R | Scope.Scope>
}

/** Options of a group whose members are independent. */
export interface Options<E, R, AE, AR> {
  /** Identifies the group within its batch, and names it in records. */
  readonly key: string
  /** The number of members, which are compared with each other. */
  readonly size: number
  /** Tags of the group. Default: none. */
  readonly tags?: ReadonlyArray<string>
  /** Makes a member's environment. It may acquire resources: its scope closes after the group's rewards. */
  readonly makeEnv: (member: number, attempt: Attempt) => Effect.Effect<Env.Env<E, R>, AE, AR>
}

/**
 * A group whose members share nothing and earn the rewards of their own steps.
 *
 * @example
 * const group = EnvGroupBuilder.make({ key: "sum 4", size: 8, makeEnv: () => Effect.succeed(env) })
 */
export const make = <E, R, AE, AR>(
  { key, makeEnv, size, tags = [] }: Options<E, R, AE, AR>
): EnvGroupBuilder<E | AE, R | Exclude<AR, Scope.Scope>> => ({
  key,
  size,
  tags,
  code: String(makeEnv),
  open: Effect.succeed({
    makeEnv: (member, attempt) =>
      Effect.flatMap(Effect.scope, (scope) => Scope.provide(makeEnv(member, attempt), scope))
  })
})

const envWith = <E, R, S>(
  { initialObservation, inject, step, ...env }: Env.Env<E, R>,
  services: Context.Context<S>
): Env.Env<E, Exclude<R, S>> => ({
  ...env,
  initialObservation: Effect.provideContext(initialObservation, services),
  step: (action) => Effect.provideContext(step(action), services),
  ...(inject !== undefined && { inject: (messages) => Effect.provideContext(inject(messages), services) })
})

const groupWith = <E, R, S>(
  { groupRewards, makeEnv }: EnvGroup<E, R>,
  services: Context.Context<S>
): EnvGroup<E, Exclude<R, S>> => ({
  makeEnv: (member, attempt) =>
    Effect.map(Effect.provideContext(makeEnv(member, attempt), services), (env) => envWith(env, services)),
  ...(groupRewards !== undefined && {
    groupRewards: (trajectories, attempt) => Effect.provideContext(groupRewards(trajectories, attempt), services)
  })
})

/** Provides the services that the group's environments and grading need. */
export const provideContext = <E, R, S>(
  builder: EnvGroupBuilder<E, R>,
  services: Context.Context<S>
): EnvGroupBuilder<E, Exclude<R, S>> => ({
  ...builder,
  open: Effect.map(Effect.provideContext(builder.open, services), (group) => groupWith(group, services))
})
