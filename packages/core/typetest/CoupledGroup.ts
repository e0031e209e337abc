/** Self-play: two members share a game that opens with the group and closes after the group's rewards. */
import {
  type Env,
  type EnvGroupBuilder,
  type InvalidOption,
  type Policy,
  Rollout,
  type TinkerError
} from "@effect-rl/core"
import type { RolloutError } from "@effect-rl/core/program"
import { Effect, Queue, Schema } from "effect"
import { holds, type Same } from "./Same.ts"

class Forfeit extends Schema.TaggedError<Forfeit>()("Forfeit", { member: Schema.Int }) {}

declare const prompt: Env.Prompt

interface Game {
  readonly moves: Queue.Queue<Int32Array>
}

const openGame = Effect.acquireRelease(
  Effect.map(Queue.unbounded<Int32Array>(), (moves): Game => ({ moves })),
  ({ moves }) => Queue.shutdown(moves)
)

const player = ({ moves }: Game, member: number): Env.Env<Forfeit> => ({
  initialObservation: member === 0 ? Effect.succeed(prompt) : Effect.as(Queue.take(moves), prompt),
  step: ({ tokens }) =>
    tokens.length === 0
      ? Effect.fail(new Forfeit({ member }))
      : Effect.as(Queue.offer(moves, tokens), { _tag: "Done" as const, reward: 0 })
})

export const duel: EnvGroupBuilder.EnvGroupBuilder<Forfeit> = {
  key: "duel/1",
  size: 2,
  tags: ["self-play"],
  coupled: true,
  open: Effect.map(openGame, (game) => ({
    makeEnv: (member) => Effect.succeed(player(game, member)),
    groupRewards: (trajectories) => Effect.succeed(trajectories.map((_, member) => ({ reward: member === 0 ? 1 : -1 })))
  }))
}

declare const policy: Policy.Policy<TinkerError.TinkerError>

export const played = Rollout.group(duel, policy, { iteration: 0 })

holds<
  Same<
    Effect.Error<typeof played>,
    Forfeit | TinkerError.TinkerError | InvalidOption.InvalidOption | RolloutError.RolloutError
  >
>()
holds<Same<Effect.Services<typeof played>, never>>()
