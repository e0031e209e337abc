/** Several attempts at one problem. */
import * as Effect from "effect/Effect"
import type * as Renderer from "../chat/Renderer.ts"
import type { EnvGroupBuilder } from "./EnvGroupBuilder.ts"
import type { ProblemEnv } from "./ProblemEnv.ts"

export interface Options<E, R> {
  readonly key: string
  readonly size: number
  readonly env: (member: number) => ProblemEnv<E, R>
  /** Default `["problems"]`. */
  readonly tags?: ReadonlyArray<string>
}

/** @see tinker-cookbook `ProblemGroupBuilder` */
export const make = <E, R>(options: Options<E, R>): EnvGroupBuilder<E | Renderer.RendererError, R> => ({
  key: options.key,
  size: options.size,
  tags: options.tags ?? ["problems"],
  open: Effect.succeed({ makeEnv: (member) => Effect.sync(() => options.env(member)) })
})
