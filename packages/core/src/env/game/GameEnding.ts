/** How a player's episode ends when the match is over. */
import * as Effect from "effect/Effect"
import * as EnvMetric from "../../records/EnvMetric.ts"
import type * as Env from "../Env.ts"
import type { Ending, Match } from "./Game.ts"

/** The stop reason of an ending: `completed`, or none if a player left. */
const stopReason = ({ by }: Ending) => by === "departure" ? {} : { stopReason: "completed" } as const

/** The last step of a player whose last message was `said`. */
export const done = (ending: Ending, player: number, said: string): Env.Done => {
  const { by, rewards } = ending
  const reward = rewards[player] ?? 0
  return {
    _tag: "Done",
    reward,
    metrics: {
      won: EnvMetric.rate(by === "rules" && reward > 0),
      lost: EnvMetric.rate(by === "rules" && reward < 0),
      illegal_move: EnvMetric.rate(by === "illegal_move" && ending.player === player)
    },
    logs: { move: said, ending: by },
    ...stopReason(ending)
  }
}

/** Waits for the player's first turn. If the match ends before it, the player gets an `Overflow` with their reward. */
export const orFirstTurn = <State, E, R, E2, R2>(
  env: Env.Env<E, R>,
  player: number,
  firstTurn: Effect.Effect<Match<State>, E2, R2>
): Env.Env<E | E2, R | R2> => ({
  ...env,
  initialObservation: Effect.flatMap(
    firstTurn,
    ({ ending }): Effect.Effect<Env.Prompt | Env.Overflow, E, R> =>
      ending === undefined ? env.initialObservation : Effect.succeed({
        _tag: "Overflow",
        reward: ending.rewards[player] ?? 0,
        logs: { ending: ending.by },
        stopReason: "completed"
      })
  )
})
