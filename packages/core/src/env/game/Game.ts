/** Games of several players who move in turns. */
import * as Message from "../../chat/Message.ts"

/**
 * The rules of a game as pure functions of its state. Players are counted from 0.
 *
 * @example
 * const nim: Game.Game<{ readonly left: number; readonly player: number }> = {
 *   players: 2,
 *   start: { left: 7, player: 0 },
 *   toMove: ({ left, player }) => left > 0 ? player : undefined,
 *   rules: () => "Take 1 to 3 stones. Who takes the last one wins.",
 *   view: ({ left }) => `${left} stones are left.`,
 *   move: ({ left, player }, said) => {
 *     const taken = Number(said)
 *     return taken >= 1 && taken <= Math.min(3, left) ? { left: left - taken, player: 1 - player } : undefined
 *   },
 *   rewards: ({ player }) => player === 1 ? [1, -1] : [-1, 1]
 * }
 */
export interface Game<State> {
  readonly players: number
  readonly start: State
  /** The player who moves next; undefined when the game is over. */
  readonly toMove: (state: State) => number | undefined
  /** The text that a player reads at the beginning. */
  readonly rules: (player: number) => string
  /** The text that a player reads at each of their turns. */
  readonly view: (state: State, player: number) => string
  /** The state after the move that the current player wrote; undefined if the move is illegal. */
  readonly move: (state: State, said: string) => State | undefined
  /** One reward per player, for a finished game. */
  readonly rewards: (state: State) => ReadonlyArray<number>
}

/** How a game ended: by its rules, by an illegal move, or because a player left. */
export interface Ending {
  readonly by: "rules" | "illegal_move" | "departure"
  /** The player who made the illegal move or left. */
  readonly player?: number
  readonly rewards: ReadonlyArray<number>
}

/** A game being played: its current state and, once it is over, its ending. */
export interface Match<State> {
  readonly game: Game<State>
  readonly state: State
  readonly ending?: Ending
}

/** A match at the start of the game. */
export const begin = <State>(game: Game<State>): Match<State> => settled({ game, state: game.start })

const settled = <State>(match: Match<State>): Match<State> =>
  match.game.toMove(match.state) === undefined
    ? { ...match, ending: { by: "rules", rewards: match.game.rewards(match.state) } }
    : match

/** The player who moves next; undefined when the match is over. */
export const toMove = <State>({ ending, game, state }: Match<State>): number | undefined =>
  ending === undefined ? game.toMove(state) : undefined

/** The reward of a player who makes an illegal move. The match then ends, and the other players get 0. */
export const illegalMoveReward = -2

const end = <State>(match: Match<State>, by: Ending["by"], player: number, reward: number): Match<State> => ({
  ...match,
  ending: {
    by,
    player,
    rewards: Array.from({ length: match.game.players }, (_, other) => other === player ? reward : 0)
  }
})

/** The match after the player's move. An illegal move ends the match. A finished match does not change. */
export const play = <State>(match: Match<State>, player: number, said: string): Match<State> => {
  if (match.ending !== undefined) return match
  const state = match.game.move(match.state, said)
  return state === undefined
    ? end(match, "illegal_move", player, illegalMoveReward)
    : settled({ ...match, state })
}

/** The match after a player left: it ends with a reward of 0 for every player. A finished match does not change. */
export const depart = <State>(match: Match<State>, player: number): Match<State> =>
  match.ending === undefined ? end(match, "departure", player, 0) : match

/** The message that a player reads at their turn. */
export const shown = <State>({ game, state }: Match<State>, player: number): Message.Message =>
  Message.user(game.view(state, player))

/** The messages that a player reads at the beginning of a match. */
export const opening = <State>(match: Match<State>, player: number): ReadonlyArray<Message.Message> => [
  Message.system(match.game.rules(player)),
  shown(match, player)
]
