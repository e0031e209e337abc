/** Environments whose rewards are compared with each other. */
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

/** A member's reward from the whole group, added to what its steps gave. */
export interface GroupReward {
  readonly reward: number
  /** The judgement behind the reward; a reward alone is the value of its score. */
  readonly score?: Score
  readonly metrics?: EnvMetric.Metrics
}

/** An open group: members are acquired one by one, each in a scope of its own that closes after the group's rewards. */
export interface EnvGroup<out E = never, out R = never> {
  /** `attempt` has the seed of everything random in the environment, and its key is the prefix of the keys of its requests to models. */
  readonly makeEnv: (member: number, attempt: Attempt) => Effect.Effect<Env.Env<E, R>, E, R | Scope.Scope>
  /** One reward per trajectory, in order; without it the members earn what their own steps give. */
  readonly groupRewards?: (
    trajectories: ReadonlyArray<Trajectory>,
    attempt: Attempt
  ) => Effect.Effect<ReadonlyArray<GroupReward>, E, R>
}

/** The name of a `RolloutTask` and its payload as JSON, from which another process builds the group. */
export interface TaskDescription {
  readonly name: string
  readonly payload: Schema.Json
}

/**
 * Opens a group of environments. `key` is unique within a batch and the same in every run, because seeds derive from it.
 *
 * @see tinker-cookbook `EnvGroupBuilder`
 */
export interface EnvGroupBuilder<out E = never, out R = never> {
  readonly key: string
  readonly size: number
  readonly tags: ReadonlyArray<string>
  /**
   * Distinguishes groups beyond key, size and tags, such as by the form of the prompts or the reward's name; part of the dataset's
   * fingerprint.
   */
  readonly form?: string
  /** The source text of the functions that make and grade its members, as far as it is known. */
  readonly code?: string
  /** Members share an episode (self-play): they run at the same time or not at all, and are retried together. */
  readonly coupled?: boolean
  /**
   * The task and payload it was made of, where a `RolloutTask` made it. A copy of the builder with anything but another key must
   * leave it out: another process builds the group from the payload alone.
   */
  readonly task?: Result.Result<TaskDescription, InvalidOption>
  readonly open: Effect.Effect<EnvGroup<E, R>, E, R | Scope.Scope>
}

/** A group whose members are independent. */
export interface Options<E, R, AE, AR> {
  readonly key: string
  readonly size: number
  /** Default none. */
  readonly tags?: ReadonlyArray<string>
  /** May acquire resources: its scope closes after the group's rewards. */
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

/** The group with services that its environments and their grading need. */
export const provideContext = <E, R, S>(
  builder: EnvGroupBuilder<E, R>,
  services: Context.Context<S>
): EnvGroupBuilder<E, Exclude<R, S>> => ({
  ...builder,
  open: Effect.map(Effect.provideContext(builder.open, services), (group) => groupWith(group, services))
})
