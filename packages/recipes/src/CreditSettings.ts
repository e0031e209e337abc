/** The credit of a recipe: the name of a rule, and the reward shaping before it. */
import { Advantage, Audit, Credit, InvalidOption, Setting } from "@effect-rl/core"
import * as Effect from "effect/Effect"

type AnyCredit = Credit.Credit<InvalidOption.InvalidOption>

const names = [
  "centered",
  "normalized",
  "leave_one_out",
  "max_rl",
  "length_weighted",
  "pass_at_k",
  "shared_prefix",
  "reinforce_plus_plus",
  "reinforce_plus_plus_baseline",
  "shrinkage",
  "role_relative"
] as const

export const fields = {
  credit: Setting.choice({
    choices: names,
    default: "centered",
    help:
      "The rule that turns rewards into advantages: centered subtracts the group's mean; docs/algorithms.md has the others"
  }),
  deviation: Setting.choice({
    choices: ["sample", "population"],
    default: "sample",
    help: "Standard deviation by which the credit normalized divides"
  }),
  passK: Setting.int({ least: 2, unit: "attempts", help: "k of the credit pass_at_k; all attempts unless given" }),
  roleDecay: Setting.number({
    least: 0,
    most: 0.999_999,
    default: 0.95,
    help: "Decay of the moving averages of the credit role_relative"
  }),
  overlongBuffer: Setting.int({
    least: 1,
    unit: "tokens",
    help: "Tokens before the longest response over which reward falls by 1; none unless given"
  }),
  lengthPenalty: Setting.number({
    least: 0,
    default: 0,
    help: "Weight of an attempt's length, relative to the longest of its group and the group's mean reward"
  }),
  quarantine: Setting.toggle({
    default: false,
    help: "Train on no problem of which an audit suspects an attempt, such as of swaying its grader; both are recorded"
  })
}

interface Settings {
  readonly credit: (typeof names)[number]
  readonly deviation: Advantage.Deviation
  readonly passK?: number
  readonly roleDecay: number
  readonly overlongBuffer?: number
  readonly lengthPenalty: number
  readonly quarantine: boolean
  readonly maxTokens: number
}

const ruleOf = ({ credit, deviation, passK, roleDecay }: Settings): AnyCredit => {
  switch (credit) {
    case "centered":
      return Credit.groupRelative(Advantage.centered)
    case "normalized":
      return Credit.groupRelative(Advantage.normalized(deviation))
    case "leave_one_out":
      return Credit.groupRelative(Advantage.leaveOneOut)
    case "max_rl":
      return Credit.groupRelative(Advantage.maxRl)
    case "length_weighted":
      return Credit.groupRelative(Advantage.lengthWeighted)
    case "pass_at_k":
      return Credit.groupRelative(Advantage.passAtK(passK))
    case "shared_prefix":
      return Credit.groupRelative(Advantage.sharedPrefix)
    case "reinforce_plus_plus":
      return Credit.batchRelative()
    case "reinforce_plus_plus_baseline":
      return Credit.batchRelative(Advantage.centered)
    case "shrinkage":
      return Credit.shrinkage
    case "role_relative":
      return Credit.roleRelative({ decay: roleDecay })
  }
}

/** Fails where the buffer for overlong responses is longer than a response may be. */
export const check = ({ maxTokens, overlongBuffer = 1 }: Pick<Settings, "maxTokens" | "overlongBuffer">) => {
  if (overlongBuffer <= maxTokens) return Effect.void
  const expected = `at most the ${maxTokens} tokens of the longest response`
  const found = String(overlongBuffer)
  return Effect.fail(new InvalidOption.InvalidOption({ field: "overlongBuffer", found, expected }))
}

/** The rule, applied after reward shaping and the quarantine. */
export const of = (settings: Settings): AnyCredit => {
  const { lengthPenalty, maxTokens, overlongBuffer, quarantine } = settings
  const rule = ruleOf(settings)
  const penalized = lengthPenalty === 0 ? rule : Credit.lengthPenalty({ actionTokens: lengthPenalty })(rule)
  const shaped = overlongBuffer === undefined
    ? penalized
    : Credit.overlong({ maxTokens, buffer: overlongBuffer })(penalized)
  return quarantine ? Audit.quarantine(shaped) : shaped
}
