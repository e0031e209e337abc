/**
 * The credit settings of a recipe: a credit rule with its options, and the reward shaping applied before it.
 *
 * @example
 * const credit = CreditSettings.of({ credit: "leave_one_out", lengthPenalty: 0.1, quarantine: false, maxTokens: 256 })
 */
import { Credit, InvalidOption, Setting } from "@effect-rl/core"
import { NamedCredit } from "@effect-rl/core/program"
import { Audit } from "@effect-rl/core/records"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as OwnOptions from "./OwnOptions.ts"

export const fields = {
  /**
   * The rule that turns rewards into advantages: centered subtracts the group's mean; docs/algorithms.md lists the others. Default:
   * centered.
   */
  credit: Setting.choice({
    choices: NamedCredit.names,
    default: "centered",
    help:
      "The rule that turns rewards into advantages: centered subtracts the group's mean; docs/algorithms.md lists the others"
  }),
  ...NamedCredit.options,
  /** Number of tokens before maxTokens over which the reward falls linearly by 1; no penalty unless given. */
  overlongBuffer: Setting.int({
    least: 1,
    unit: "tokens",
    help: "Number of tokens before maxTokens over which the reward falls linearly by 1; no penalty unless given"
  }),
  /** Weight of a length penalty, relative to the group's longest attempt and its mean reward. Default: 0. */
  lengthPenalty: Setting.number({
    least: 0,
    default: 0,
    help: "Weight of a length penalty, relative to the group's longest attempt and its mean reward"
  }),
  /**
   * Leave out problems with an attempt that an audit suspects, for example of swaying its grader; suspicions are recorded. Default: false.
   */
  quarantine: Setting.toggle({
    default: false,
    help:
      "Leave out problems with an attempt that an audit suspects, for example of swaying its grader; suspicions are recorded"
  })
}

export interface Settings extends NamedCredit.Given {
  readonly credit: NamedCredit.Name
  readonly overlongBuffer?: number
  readonly lengthPenalty: number
  readonly quarantine: boolean
  readonly maxTokens: number
}

const Decoded = Schema.Struct({ maxTokens: Schema.Finite, ...fields })

/** The credit settings among a recipe's decoded settings, with the defaults of those that the recipe lacks. */
export const decode = Schema.decodeUnknownOption(Decoded)

const refuse = (field: string, found: unknown, expected: string) =>
  Effect.fail(new InvalidOption.InvalidOption({ field, found: String(found), expected }))

/**
 * Fails with the first given option that the rule does not accept, or with `rewardParts` if the rule is `gdpo` and they are missing or
 * malformed. Also fails if `overlongBuffer` exceeds `maxTokens`.
 *
 * @example
 * const checked = CreditSettings.check({ credit: "centered", maxTokens: 64 })
 */
export const check = Effect.fnUntraced(function*(settings: Omit<Settings, "lengthPenalty" | "quarantine">) {
  const { credit, maxTokens, overlongBuffer = 1, rewardParts } = settings
  yield* OwnOptions.check(`the credit ${credit}`, settings, {
    options: Object.keys(NamedCredit.options),
    own: NamedCredit.optionsOf(credit)
  })
  if (credit === "gdpo" && (rewardParts === undefined || NamedCredit.partsOf(rewardParts) === undefined)) {
    return yield* refuse(
      "rewardParts",
      rewardParts ?? "left out",
      "metrics with their weights, such as correct=1,format=0.1"
    )
  }
  if (overlongBuffer > maxTokens) {
    return yield* refuse("overlongBuffer", overlongBuffer, `at most the ${maxTokens} tokens of the longest response`)
  }
})

/** The credit rule, with reward shaping and the quarantine applied first. */
export const of = (settings: Settings): Credit.Credit<InvalidOption.InvalidOption> => {
  const { credit, lengthPenalty, maxTokens, overlongBuffer, quarantine } = settings
  const chosen = NamedCredit.make(credit, settings)
  const penalized = lengthPenalty === 0 ? chosen : Credit.lengthPenalty({ actionTokens: lengthPenalty })(chosen)
  const shaped = overlongBuffer === undefined
    ? penalized
    : Credit.overlong({ maxTokens, buffer: overlongBuffer })(penalized)
  return quarantine ? Audit.quarantine(shaped) : shaped
}
