/** A caller's functions at given moments of an episode, for any environment. */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type * as Message from "../chat/Message.ts"
import type * as StopReason from "../env/StopReason.ts"
import type * as Trajectory from "../env/Trajectory.ts"
import type { MemberKey } from "../records/Key.ts"

/** How far an episode has come. */
export interface State {
  readonly key: MemberKey
  /** The transitions of the finished turns, in order. */
  readonly transitions: ReadonlyArray<Trajectory.Transition>
  /** Tokens of the prompt that is shown next. */
  readonly observationTokens: number
  /** Sampled tokens of all turns together. */
  readonly sampledTokens: number
  /** Turns that were cut at their token limit and after which the episode went on. */
  readonly truncations: number
  readonly elapsed: Duration.Duration
}

/**
 * Hooks of an episode, all optional. A hook that fails fails the attempt.
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
  /** Before each policy call: messages to add to the conversation. Needs an environment with `inject` where there are any. */
  readonly onTurnBegin?: (state: State) => Effect.Effect<ReadonlyArray<Message.Message>, E, R>
  /**
   * Called when the environment or a limit ends the episode. Returns the reason with which it ends, or `None` to go on. Not called when
   * `rolloutTimeout` interrupts a turn. Where it passes over a token or time limit, it is called again before the next turn; an
   * environment that was done shows its conversation again through `inject`.
   */
  readonly onStopReason?: (
    reason: StopReason.StopReason,
    state: State
  ) => Effect.Effect<Option.Option<StopReason.Name>, E, R>
  /** After an episode that its environment ended. */
  readonly onGrade?: (state: State) => Effect.Effect<void, E, R>
  /** At the end of every episode that did not fail, outside of its timeouts. */
  readonly onArtifacts?: (state: State) => Effect.Effect<void, E, R>
}
