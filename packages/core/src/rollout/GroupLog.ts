/**
 * The log of finished groups: it is read before a group is sampled, and written when a group ends.
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

/** Identifies a group of an iteration, sampled with the weights after `step` optimizer steps. */
export interface Origin {
  /** The evaluation that a training program samples the group for; absent for all other groups. */
  readonly evaluator?: string
  /** A digest of the instruction that the group is sampled with, if the program optimises it. */
  readonly instructionDigest?: string
  readonly iteration: number
  readonly step: number
  readonly key: string
  /**
   * Iterations that the weights were trained for when the group began, and iterations finished when it ended; both default to `iteration`.
   */
  readonly began?: number
  readonly ended?: number
}

/** A finished group, and the tokens of all its requests. */
export interface Finished {
  readonly result: GroupResult
  readonly usage: Usage
}

/** Reads and writes finished groups. */
export interface GroupLog {
  /** The group as recorded before the run was interrupted; `None` if the log has no usable record of it. */
  readonly recall: (origin: Origin) => Effect.Effect<Option.Option<Finished>>
  readonly write: (origin: Origin, group: Finished, milliseconds: number) => Effect.Effect<void>
}

/** The log of rollouts; by default, nothing is kept. A run provides its own. */
export const GroupLog = Context.Reference<GroupLog>("@effect-rl/core/rollout/GroupLog", {
  defaultValue: () => ({ recall: () => Effect.succeed(Option.none()), write: () => Effect.void })
})
