/**
 * A log of finished groups: written as each group ends, and asked before a group is sampled again.
 *
 * @example
 * const again = Effect.gen(function*() {
 *   const { recall } = yield* GroupLog.GroupLog
 *   return yield* recall({ iteration: 3, step: 3, key: "sum 17" })
 * })
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Usage } from "../records/Usage.ts"
import type { GroupResult } from "./GroupResult.ts"

/** Identifies a group of an iteration, sampled with weights after `step` optimizer steps. */
export interface Origin {
  readonly iteration: number
  readonly step: number
  readonly key: string
  /** Iterations behind its weights, and those that were done when it ended; `iteration` unless given. */
  readonly began?: number
  readonly ended?: number
}

/** A finished group, and the tokens of all requests that were made for it. */
export interface Finished {
  readonly result: GroupResult
  readonly usage: Usage
}

/** Recalls and writes groups. */
export interface GroupLog {
  /** The group as an interrupted run recorded it; `None` where it was not finished. */
  readonly recall: (origin: Origin) => Effect.Effect<Option.Option<Finished>>
  readonly write: (origin: Origin, group: Finished, milliseconds: number) => Effect.Effect<void>
}

/** The log that rollouts write to; without one nothing is kept. A run provides its own. */
export const GroupLog = Context.Reference<GroupLog>("@effect-rl/core/rollout/GroupLog", {
  defaultValue: () => ({ recall: () => Effect.succeed(Option.none()), write: () => Effect.void })
})
