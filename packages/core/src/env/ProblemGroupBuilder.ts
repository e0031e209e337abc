/** Several attempts at one problem. */
import * as Effect from "effect/Effect"
import type * as Renderer from "../chat/Renderer.ts"
import type { Attempt } from "../records/Key.ts"
import * as EnvGroupBuilder from "./EnvGroupBuilder.ts"
import type { ProblemEnv } from "./ProblemEnv.ts"

/** The key and size of a group, and the environment of its problem. */
export interface Options<E, R> {
  /** Identifies the group within its batch, and names it in records. */
  readonly key: string
  /** The number of members, which are compared with each other. */
  readonly size: number
  /** A member's problem. */
  readonly env: (member: number, attempt: Attempt) => ProblemEnv<E, R>
  /** Tags of the group. Default: `["problems"]`. */
  readonly tags?: ReadonlyArray<string>
  /** A text that distinguishes the group beyond key, size and tags; see `EnvGroupBuilder.form`. Default: none. */
  readonly form?: string
}

/**
 * A group of attempts at one problem, each in its own environment.
 *
 * @see tinker-cookbook `ProblemGroupBuilder`
 *
 * @example
 * const group = ProblemGroupBuilder.make({ key: "sum 4", size: 8, env: () => problemEnv })
 */
export const make = <E, R>(options: Options<E, R>): EnvGroupBuilder.EnvGroupBuilder<E | Renderer.RendererError, R> => ({
  ...EnvGroupBuilder.make({
    key: options.key,
    size: options.size,
    tags: options.tags ?? ["problems"],
    makeEnv: (member, attempt) => Effect.sync(() => options.env(member, attempt))
  }),
  ...(options.form !== undefined && { form: options.form })
})
