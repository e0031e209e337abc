/** Credit relative to the role that a member plays. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as GroupResult from "../../rollout/GroupResult.ts"
import * as Check from "../../settings/Check.ts"
import type { InvalidOption } from "../../settings/InvalidOption.ts"
import * as Advantage from "../Advantage.ts"
import { type Credit, credited, orConstant } from "./Assigned.ts"

type Role = (group: GroupResult.Group, member: number) => string

export interface RoleOptions {
  /** α of b ← α·b + (1 − α)·r, from 0 to below 1; default 0.95. */
  readonly decay?: number
  /** Default: the group's tags and the member's number, as in self-play, where it is the seat at the table. */
  readonly roleOf?: Role
}

const seat: Role = ({ tags }, member) => [...tags, member].join("/")

const Baselines = Schema.Record(Schema.String, Schema.Finite)

/** Every member's advantage, in the order of groups and members, and the baselines after all of them. */
const compared = (
  results: ReadonlyArray<GroupResult.GroupResult>,
  before: typeof Baselines.Type,
  decay: number,
  roleOf: Role
) => {
  const baselines: Record<string, number> = { ...before }
  const advantages = new Map<GroupResult.Group, Float64Array>()
  for (const group of results) {
    if (GroupResult.isSkipped(group)) continue
    advantages.set(
      group,
      group.rewardsG.map((reward, member) => {
        if (Number.isNaN(reward)) return 0
        const role = roleOf(group, member)
        const baseline = baselines[role] ?? 0
        baselines[role] = decay * baseline + (1 - decay) * reward
        return reward - baseline
      })
    )
  }
  return { advantages, baselines }
}

/**
 * Aᵢ = rᵢ − b of the member's role, b the moving average of that role's rewards over the run, from 0, which a member's reward enters
 * after its own advantage. For games whose sides have different chances, where members of a group have nothing in common to be
 * compared by (RAE of SPIRAL, arXiv:2506.24119). The averages are the credit's memory, so that a resumed run goes on exactly.
 *
 * @see prime-rl `RAEAlgorithm`
 */
export const roleRelative = ({ decay = 0.95, roleOf = seat }: RoleOptions = {}): Credit<InvalidOption> => ({
  name: "role_relative",
  config: { decay },
  assign: Effect.fnUntraced(function*(results, memory) {
    yield* Check.all(Check.option("decay", decay, {
      expected: "a number from 0 to below 1",
      accepts: (value: number) => value >= 0 && value < 1
    }))
    const before = Option.getOrElse(Schema.decodeUnknownOption(Baselines)(memory), () => ({}))
    const { advantages, baselines } = compared(results, before, decay, roleOf)
    const estimator = Advantage.make("role", ({ group }) => advantages.get(group) ?? new Float64Array(0))
    return { groups: credited(results, "tokens", estimator).map(orConstant), metrics: {}, memory: baselines }
  })
})
