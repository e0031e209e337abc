/** Callbacks at fixed moments of an episode, for any environment. */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type * as Message from "../chat/Message.ts"
import type * as StopReason from "../env/StopReason.ts"
import type * as Trajectory from "../env/Trajectory.ts"
import type { MemberKey } from "../records/Key.ts"

/** The state of an episode when a hook is called. */
export interface State {
  readonly key: MemberKey
  /** The transitions of the finished turns, in order. */
  readonly transitions: ReadonlyArray<Trajectory.Transition>
  /** The number of tokens of the newest prompt; 0 if the episode has none. */
  readonly observationTokens: number
  /** The number of tokens sampled in all turns. */
  readonly sampledTokens: number
  /** Turns that reached their token limit without ending the episode. */
  readonly truncations: number
  readonly elapsed: Duration.Duration
}

/**
 * Hooks of an episode, all optional. If a hook fails, the attempt fails.
 *
 * @example
 * const hooks: Hooks.Hooks = {
 *   onTurnBegin: ({ transitions }) =>
 *     Effect.succeed(transitions.length === 9 ? [Message.user("This is your last turn.")] : [])
 * }
 *
 * @see tinker-cookbook `RolloutHooks`
 */
export interface Hooks<out E = never, out R = never> {
  /** Called before each turn; returns messages to add to the conversation. Adding messages needs an environment with `inject`. */
  readonly onTurnBegin?: (state: State) => Effect.Effect<ReadonlyArray<Message.Message>, E, R>
  /**
   * Called when the environment or a limit ends the episode. Returns the final reason, or `None` to continue. Not called when
   * `rolloutTimeout` interrupts a turn. If it returns `None` for a limit, it is called again before the next turn. An environment that was
   * done shows its conversation again through `inject`.
   */
  readonly onStopReason?: (
    reason: StopReason.StopReason,
    state: State
  ) => Effect.Effect<Option.Option<StopReason.Name>, E, R>
  /** Called after an episode that its environment ended. */
  readonly onGrade?: (state: State) => Effect.Effect<void, E, R>
  /** Called at the end of every episode that did not fail; the episode's timeouts do not apply. */
  readonly onArtifacts?: (state: State) => Effect.Effect<void, E, R>
}
