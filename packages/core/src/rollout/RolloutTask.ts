/**
 * Groups that can be built in another process: a name and a payload in place of a closure.
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

/** A task as a worker runs it. */
export interface Portable<out R = never> {
  readonly name: string
  readonly roll: (job: Job, policy: Policy.Policy<unknown>) => Effect.Effect<GroupResult, RolloutError, R>
}

/** A task whose groups are built from payloads. */
export interface RolloutTask<in P, out E = never, out R = never> extends Portable<Exclude<R, Scope.Scope>> {
  /** A group builder that an executor can send to another process. Opening it fails where the payload does not fit its schema. */
  readonly builder: (payload: P) => EnvGroupBuilder<E | InvalidOption, R>
}

/** The error of a group that failed in another process. */
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

/**
 * `builder` must depend only on the payload; the group it builds may use services that the worker has. `rollout` holds hooks and a
 * failure policy for every executor that rolls the task out; a failure policy that the caller sends comes first.
 */
export const make = <P, E = never, R = never, HE = never, HR = never>(name: string, options: {
  readonly payload: Schema.Codec<P, unknown>
  readonly builder: (payload: P) => EnvGroupBuilder<E, R>
  readonly rollout?: Pick<Group.Options<NoInfer<E>, unknown, HE, HR>, "onFailure" | "hooks">
}): RolloutTask<P, E, R | HR> => {
  const codec = Schema.toCodecJson(options.payload)
  const encode = Schema.encodeResult(codec)
  const decode = Schema.decodeUnknownEffect(codec)
  return {
    name,
    builder: (payload) => {
      const task = Result.mapBoth(encode(payload), {
        onSuccess: (encoded) => ({ name, payload: encoded }),
        onFailure: ({ message }) =>
          new InvalidOption({ field: `payload of "${name}"`, found: message, expected: "its schema" })
      })
      const builder = options.builder(payload)
      return { ...builder, task, open: Result.isFailure(task) ? Effect.fail(task.failure) : builder.open }
    },
    roll: (job, policy) =>
      decode(job.task.payload).pipe(
        Effect.flatMap((payload) => {
          const named = { ...options.builder(payload), key: job.group }
          const { onFailure, options: bounds } = job
          return Group.roll<E | HE, R | HR, unknown, never>(named, policy, {
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
