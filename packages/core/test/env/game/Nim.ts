/** A pile from which two players take one or two stones in turns. The player who takes the last one wins. */
import type { Game } from "@effect-rl/core/environments"

export interface Pile {
  readonly left: number
  readonly taken: number
}

export const nim = (size: number): Game.Game<Pile> => ({
  players: 2,
  start: { left: size, taken: 0 },
  toMove: ({ left, taken }) => left === 0 ? undefined : taken % 2,
  rules: (player) => `You are player ${player}. Take 1 or 2.`,
  view: ({ left }) => `${left} left.`,
  move: ({ left, taken }, said) => {
    const count = Number(said)
    return (count === 1 || count === 2) && count <= left ? { left: left - count, taken: taken + 1 } : undefined
  },
  rewards: ({ taken }) => taken % 2 === 1 ? [1, -1] : [-1, 1]
})
