/** Rollout ids on the command line: the sequence number of the group's record, a dot, and the member, as in `1063.2`. */
import { InvalidOption } from "@effect-rl/core"
import * as Effect from "effect/Effect"

export interface RolloutId {
  readonly sequence: number
  readonly member: number
}

export const format = ({ member, sequence }: RolloutId): string => `${sequence}.${member}`

/** Parses a rollout id; fails with `InvalidOption` if the text is not an id. */
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
