/** Several players who move in turns. */
import * as Message from "../chat/Message.ts"

/**
 * The rules as pure functions of a position. Players are counted from 0.
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
  /** Who moves; undefined when the game is over. */
  readonly toMove: (state: State) => number | undefined
  /** What a player is told before anything else. */
  readonly rules: (player: number) => string
  /** What a player is shown when it is their turn. */
  readonly view: (state: State, player: number) => string
  /** The position after what the player to move said; undefined where that is no legal move. */
  readonly move: (state: State, said: string) => State | undefined
  /** One per player, of a game that is over. */
  readonly rewards: (state: State) => ReadonlyArray<number>
}

/** How a game ended: by its rules, by a move that was none, or because a player went away. */
export interface Ending {
  readonly by: "rules" | "illegal_move" | "departure"
  /** Who made that move or went away. */
  readonly player?: number
  readonly rewards: ReadonlyArray<number>
}

/** A game being played. */
export interface Match<State> {
  readonly game: Game<State>
  readonly state: State
  readonly ending?: Ending
}

export const begin = <State>(game: Game<State>): Match<State> => settled({ game, state: game.start })

const settled = <State>(match: Match<State>): Match<State> =>
  match.game.toMove(match.state) === undefined
    ? { ...match, ending: { by: "rules", rewards: match.game.rewards(match.state) } }
    : match

/** Undefined when the match is over. */
export const toMove = <State>({ ending, game, state }: Match<State>): number | undefined =>
  ending === undefined ? game.toMove(state) : undefined

/** What an illegal move costs whoever makes it; it ends the match, and the others have neither won nor lost. */
export const illegalMoveReward = -2

const end = <State>(match: Match<State>, by: Ending["by"], player: number, reward: number): Match<State> => ({
  ...match,
  ending: {
    by,
    player,
    rewards: Array.from({ length: match.game.players }, (_, other) => other === player ? reward : 0)
  }
})

/** The match after what the player to move said; a match that is over stays as it is. */
export const play = <State>(match: Match<State>, player: number, said: string): Match<State> => {
  if (match.ending !== undefined) return match
  const state = match.game.move(match.state, said)
  return state === undefined
    ? end(match, "illegal_move", player, illegalMoveReward)
    : settled({ ...match, state })
}

/** A player goes away: nobody has won or lost. */
export const depart = <State>(match: Match<State>, player: number): Match<State> =>
  match.ending === undefined ? end(match, "departure", player, 0) : match

/** What a player is shown next. */
export const shown = <State>({ game, state }: Match<State>, player: number): Message.Message =>
  Message.user(game.view(state, player))

/** What a player is shown first. */
export const opening = <State>(match: Match<State>, player: number): ReadonlyArray<Message.Message> => [
  Message.system(match.game.rules(player)),
  shown(match, player)
]
