/** Groups that can be built in another process: a name and a payload in place of a closure. */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { EnvGroupBuilder } from "../env/EnvGroupBuilder.ts"
import type * as Policy from "../policy/Policy.ts"
import * as Attempts from "./Attempts.ts"
import type { Job } from "./Executor.ts"
import * as Group from "./Group.ts"
import type * as GroupOptions from "./GroupOptions.ts"
import type { GroupResult } from "./GroupResult.ts"
import { RolloutError, TaskFailed } from "./RolloutError.ts"

/** What a worker needs of a task. */
export interface Portable<out R = never> {
  readonly name: string
  readonly roll: (job: Job, policy: Policy.Policy<unknown>) => Effect.Effect<GroupResult, RolloutError, R>
}

export interface RolloutTask<in P, out E = never, out R = never> extends Portable<Exclude<R, Scope.Scope>> {
  /** A group as any other, which can also be rolled out elsewhere. Dies where the payload is not what its schema says. */
  readonly builder: (payload: P) => Effect.Effect<EnvGroupBuilder<E, R>, E, R>
}

/** What a group's failure says of itself in another process. */
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
 * `builder` must depend on the payload alone, and on services that the worker has. `rollout` is what cannot be sent along: a
 * failure policy and hooks; it holds wherever an executor rolls the task out.
 */
export const make = <P, E = never, R = never, HE = never, HR = never>(name: string, options: {
  readonly payload: Schema.Codec<P, unknown>
  readonly builder: (payload: P) => Effect.Effect<EnvGroupBuilder<E, R>, E, R>
  readonly rollout?: Pick<GroupOptions.Options<NoInfer<E>, unknown, HE, HR>, "onFailure" | "hooks">
}): RolloutTask<P, E, R | HR> => {
  const codec = Schema.toCodecJson(options.payload)
  const encode = Schema.encodeEffect(codec)
  const decode = Schema.decodeUnknownEffect(codec)
  return {
    name,
    builder: (payload) =>
      Effect.flatMap(
        Effect.orDie(encode(payload)),
        (encoded) =>
          Effect.map(options.builder(payload), (builder) => ({ ...builder, task: { name, payload: encoded } }))
      ),
    roll: (job, policy) =>
      decode(job.task.payload).pipe(
        Effect.flatMap(options.builder),
        Effect.flatMap((builder) => {
          const named = { ...builder, key: job.group }
          return Group.roll<E | HE, R | HR, unknown, never>(named, policy, { ...job.options, ...options.rollout })
        }),
        Effect.scoped,
        Effect.catchDefect((defect) => Effect.fail(defect)),
        Effect.mapError((error) => failed(job.group, error))
      )
  }
}
