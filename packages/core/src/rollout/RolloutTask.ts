/**
 * Groups that can be built in another process: a task name and a payload instead of a closure.
 *
 * @example
 * const task = RolloutTask.make("sums", {
 *   payload: Schema.Struct({ index: Schema.Int }),
 *   builder: ({ index }) => ProblemGroupBuilder.make({ key: `sum/${index}`, size: 8, env: () => problemEnv })
 * })
 * RLDataset.fromArray(rows, { groupsPerBatch: 16, group: (_, index) => task.builder({ index }) })
 */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { EnvGroupBuilder } from "../env/EnvGroupBuilder.ts"
import type * as Policy from "../policy/Policy.ts"
import { InvalidOption } from "../settings/InvalidOption.ts"
import * as Attempts from "./Attempts.ts"
import type { Job } from "./Executor.ts"
import * as FailurePolicy from "./FailurePolicy.ts"
import * as Group from "./Group.ts"
import type { GroupResult } from "./GroupResult.ts"
import { RolloutError, TaskFailed } from "./RolloutError.ts"

/** A task as seen by a worker. */
export interface Portable<out R = never> {
  readonly name: string
  readonly roll: (job: Job, policy: Policy.Policy<unknown>) => Effect.Effect<GroupResult, RolloutError, R>
}

/** A task that builds groups from payloads. */
export interface RolloutTask<in P, out E = never, out R = never> extends Portable<Exclude<R, Scope.Scope>> {
  /** A group builder that an executor can send to another process. Opening it fails if the payload does not match its schema. */
  readonly builder: (payload: P) => EnvGroupBuilder<E | InvalidOption, R>
}

/** The error for a group that failed in another process. */
export const failed = (group: string, error: unknown) => {
  if (error instanceof RolloutError) return error
  const name = Predicate.isError(error) ? error.name : "Error"
  const reason = new TaskFailed({
    error: Predicate.hasProperty(error, "_tag") ? String(error._tag) : name,
    detail: Predicate.isError(error) ? error.message : String(error),
    isRetryable: Predicate.hasProperty(error, "isRetryable") && error.isRetryable === true
  })
  return new RolloutError({ group, member: Attempts.wholeGroup, reason })
}

/** Hooks and a failure policy for workers that roll out the task. A failure policy sent by the caller overrides this one. */
type Rolling<E, HE, HR> = Pick<Group.Options<E, unknown, HE, HR>, "onFailure" | "hooks">

/**
 * A task whose worker looks up its groups by payload, for example by index in a dataset that the worker also has.
 *
 * @example
 * const task = RolloutTask.lookup("sums", {
 *   payload: Schema.Struct({ index: Schema.Int }),
 *   find: ({ index }) => Effect.succeed(ProblemGroupBuilder.make({ key: `sum/${index}`, size: 8, env: () => problemEnv }))
 * })
 */
export const lookup = <P, E = never, R = never, FE = never, FR = never, HE = never, HR = never>(name: string, options: {
  readonly payload: Schema.Codec<P, unknown>
  readonly find: (payload: P) => Effect.Effect<EnvGroupBuilder<E, R>, FE, FR>
  readonly rollout?: Rolling<NoInfer<E>, HE, HR>
}): Portable<Exclude<R | FR | HR, Scope.Scope>> => {
  const decode = Schema.decodeUnknownEffect(Schema.toCodecJson(options.payload))
  return {
    name,
    roll: (job, policy) =>
      decode(job.task.payload).pipe(
        Effect.flatMap(options.find),
        Effect.flatMap((builder) => {
          const { onFailure, options: bounds } = job
          return Group.roll<E | HE, R | HR, unknown, never>({ ...builder, key: job.group }, policy, {
            ...options.rollout,
            ...bounds,
            ...(onFailure !== undefined && { onFailure: FailurePolicy.fromDescription(onFailure) })
          })
        }),
        Effect.scoped,
        Effect.catchDefect((defect) => Effect.fail(defect)),
        Effect.mapError((error) => failed(job.group, error))
      )
  }
}

/** A task that builds its groups from payloads. `builder` must depend only on the payload; the group may use the worker's services. */
export const make = <P, E = never, R = never, HE = never, HR = never>(name: string, options: {
  readonly payload: Schema.Codec<P, unknown>
  readonly builder: (payload: P) => EnvGroupBuilder<E, R>
  readonly rollout?: Rolling<NoInfer<E>, HE, HR>
}): RolloutTask<P, E, R | HR> => {
  const { builder: build, payload, rollout } = options
  const encode = Schema.encodeResult(Schema.toCodecJson(payload))
  return {
    ...lookup(name, {
      payload,
      find: (payload) => Effect.sync(() => build(payload)),
      ...(rollout !== undefined && { rollout })
    }),
    builder: (payload) => {
      const task = Result.mapBoth(encode(payload), {
        onSuccess: (encoded) => ({ name, payload: encoded }),
        onFailure: ({ message }) =>
          new InvalidOption({ field: `payload of "${name}"`, found: message, expected: "its schema" })
      })
      const builder = build(payload)
      return { ...builder, task, open: Result.isFailure(task) ? Effect.fail(task.failure) : builder.open }
    }
  }
}
