/** Self-play: one policy plays all sides of a game. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import type { ChatModel } from "../../catalog/ChatModel.ts"
import * as Message from "../../chat/Message.ts"
import type { RendererError } from "../../chat/Renderer.ts"
import type { InvalidOption } from "../../settings/InvalidOption.ts"
import type { EnvGroupBuilder } from "../EnvGroupBuilder.ts"
import * as MessageEnv from "../message/MessageEnv.ts"
import * as Game from "./Game.ts"
import * as GameEnding from "./GameEnding.ts"

/** A game, and the group that plays it. */
export interface Options<State> {
  /** Identifies the group within its batch, and names it in records. */
  readonly key: string
  /** Renders the messages and parses the answers. */
  readonly model: Pick<ChatModel, "renderer">
  /** The game that the policy plays against itself. */
  readonly game: Game.Game<State>
  /** Tags of the group. Default: `["self_play"]`. */
  readonly tags?: ReadonlyArray<string>
}

/** The state that the players share: the match, and a signal that wakes the waiting players when it changes. */
interface Table<State> {
  readonly match: Game.Match<State>
  readonly changed: Deferred.Deferred<void>
}

/** Changes the match and wakes all waiting players. */
const change = <State>(table: Ref.Ref<Table<State>>, f: (match: Game.Match<State>) => Game.Match<State>) =>
  Effect.gen(function*() {
    const next = yield* Deferred.make<void>()
    const changed = yield* Ref.modify(table, ({ changed, match }) => [changed, { match: f(match), changed: next }])
    yield* Deferred.succeed(changed, undefined)
  }).pipe(Effect.uninterruptible)

/** Waits until it is the player's turn or the match is over. */
const turn = <State>(table: Ref.Ref<Table<State>>, player: number): Effect.Effect<Game.Match<State>> =>
  Effect.flatMap(Ref.get(table), ({ changed, match }) =>
    match.ending !== undefined || Game.toMove(match) === player
      ? Effect.succeed(match)
      : Effect.andThen(Deferred.await(changed), turn(table, player)))

/** A player's side of the match. Each turn begins when the other players have moved. */
const seat = <State>(table: Ref.Ref<Table<State>>, player: number): MessageEnv.MessageEnv => {
  let messages: MessageEnv.Conversation = []
  return {
    initialMessages: Effect.map(turn(table, player), (match) => messages = Game.opening(match, player)),
    step: Effect.fnUntraced(function*(message) {
      const said = Message.text(message)
      yield* change(table, (match) => Game.play(match, player, said))
      const match = yield* turn(table, player)
      if (match.ending !== undefined) return GameEnding.done(match.ending, player, said)
      messages = [...messages, message, Game.shown(match, player)]
      return { _tag: "Continue", reward: 0, logs: { move: said }, messages }
    }),
    leave: change(table, (match) => Game.depart(match, player))
  }
}

/**
 * A group that plays one match: member `p` is player `p`. The match begins when the group is opened. An illegal move ends it with
 * `Game.illegalMoveReward` for the player who made it. If a player's episode ends early, the match ends without a winner. If a member
 * fails, all members are retried together.
 *
 * @example
 * const group = SelfPlay.make({ key: "game 1", model, game })
 *
 * @see tinker-cookbook `TwoPlayerEnvGroupBuilder`
 */
export const make = <State>(options: Options<State>): EnvGroupBuilder<InvalidOption | RendererError> => ({
  key: options.key,
  size: options.game.players,
  tags: options.tags ?? ["self_play"],
  coupled: true,
  open: Effect.gen(function*() {
    const table = yield* Ref.make<Table<State>>({
      match: Game.begin(options.game),
      changed: yield* Deferred.make<void>()
    })
    return {
      makeEnv: (player) =>
        Effect.map(
          MessageEnv.toEnv(seat(table, player), { model: options.model }),
          (env) => GameEnding.orFirstTurn(env, player, turn(table, player))
        )
    }
  })
})
