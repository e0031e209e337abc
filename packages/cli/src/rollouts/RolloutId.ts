/** How a command names a rollout: the sequence number of its group's record, a dot, and its member, as in `1063.2`. */
import { InvalidOption } from "@effect-rl/core"
import * as Effect from "effect/Effect"

export interface RolloutId {
  readonly sequence: number
  readonly member: number
}

export const format = ({ member, sequence }: RolloutId): string => `${sequence}.${member}`

/** The rollout that the text names. */
export const parse = (text: string): Effect.Effect<RolloutId, InvalidOption.InvalidOption> => {
  const [, sequence, member] = /^(\d+)\.(\d+)$/.exec(text) ?? []
  return sequence === undefined || member === undefined
    ? Effect.fail(
      new InvalidOption.InvalidOption({
        field: "--rollout",
        found: `"${text}"`,
        expected: "a rollout as --rollouts lists them, such as 1063.2"
      })
    )
    : Effect.succeed({ sequence: Number(sequence), member: Number(member) })
}
