/** The policy plays one side of a game; an opponent plays all other sides. */
import * as Effect from "effect/Effect"
import type { ChatModel } from "../../catalog/ChatModel.ts"
import * as Message from "../../chat/Message.ts"
import type { RendererError } from "../../chat/Renderer.ts"
import type { MessagePolicy } from "../../policy/MessagePolicy.ts"
import type { Attempt } from "../../records/Key.ts"
import type { InvalidOption } from "../../settings/InvalidOption.ts"
import type { EnvGroupBuilder } from "../EnvGroupBuilder.ts"
import * as MessageEnv from "../message/MessageEnv.ts"
import * as Game from "./Game.ts"
import * as GameEnding from "./GameEnding.ts"

/** A game, the opponent, and the size of the group. */
export interface Options<State, E, R> {
  /** Identifies the group within its batch, and names it in records. */
  readonly key: string
  /** The number of matches, one per member. */
  readonly size: number
  /** Renders the messages and parses the answers. */
  readonly model: Pick<ChatModel, "renderer">
  /** The game that is played. */
  readonly game: Game.Game<State>
  /** The side that each member plays. Default: the member's index modulo the number of players. */
  readonly player?: (member: number) => number
  /** Plays the other sides. */
  readonly opponent: MessagePolicy<E, R>
  /** Tags of the group. Default: `["versus"]`. */
  readonly tags?: ReadonlyArray<string>
}

/** A match and what each player has seen of it. */
interface Table<State> {
  match: Game.Match<State>
  readonly seen: Array<MessageEnv.Conversation>
  turns: number
}

/** Shows the player the current position. */
const look = <State>({ match, seen }: Table<State>, player: number) => {
  const before = seen[player]
  return seen[player] = before === undefined ? Game.opening(match, player) : [...before, Game.shown(match, player)]
}

const move = <State>(table: Table<State>, player: number, message: Message.Message) => {
  table.seen[player] = [...table.seen[player] ?? [], message]
  table.match = Game.play(table.match, player, Message.text(message))
  table.turns++
}

/** Lets the opponents move until it is the player's turn or the match is over. */
const opponentsMove = Effect.fnUntraced(function*<State, E, R>(
  table: Table<State>,
  player: number,
  opponent: MessagePolicy<E, R>,
  key: string
) {
  for (let at = Game.toMove(table.match); at !== undefined && at !== player; at = Game.toMove(table.match)) {
    const message = yield* opponent.respond({ messages: look(table, at), key: `${key}/t${table.turns}` })
    move(table, at, message)
  }
})

const seat = <State, E, R>(table: Table<State>, player: number, wait: Effect.Effect<void, E, R>): MessageEnv.MessageEnv<
  E,
  R
> => ({
  initialMessages: Effect.andThen(wait, Effect.sync(() => table.seen[player] ?? look(table, player))),
  step: Effect.fnUntraced(function*(message) {
    move(table, player, message)
    yield* wait
    const said = Message.text(message)
    if (table.match.ending !== undefined) return GameEnding.done(table.match.ending, player, said)
    return { _tag: "Continue", reward: 0, logs: { move: said }, messages: look(table, player) }
  })
})

const acquire = <State, E, R>({ game, model, opponent }: Options<State, E, R>, player: number, { key }: Attempt) =>
  Effect.suspend(() => {
    const table: Table<State> = { match: Game.begin(game), seen: [], turns: 0 }
    const wait = opponentsMove(table, player, opponent, key)
    return Effect.map(
      MessageEnv.toEnv(seat(table, player, wait), { model }),
      (env) => GameEnding.orFirstTurn(env, player, Effect.map(wait, () => table.match))
    )
  })

/**
 * Matches against another policy, such as an earlier checkpoint or a stronger model. Each member plays its own match. If the opponent makes
 * an illegal move, the match ends and the member neither wins nor loses.
 *
 * @example
 * const group = Versus.make({ key: "game 1", size: 8, model, game, opponent: judge })
 *
 * @see tinker-cookbook `TwoPlayerEnvGroupBuilder`
 */
export const make = <State, E, R>(
  options: Options<State, E, R>
): EnvGroupBuilder<E | InvalidOption | RendererError, R> => {
  const { game, player = (member) => member % game.players } = options
  return {
    key: options.key,
    size: options.size,
    tags: options.tags ?? ["versus"],
    open: Effect.succeed({ makeEnv: (member, attempt) => acquire(options, player(member), attempt) })
  }
}
