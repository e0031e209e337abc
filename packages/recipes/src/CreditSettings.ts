/** The credit of a recipe: the name of a rule with its own options, and the reward shaping before it. */
import { Advantage, Credit, InvalidOption, Setting } from "@effect-rl/core"
import { Audit } from "@effect-rl/core/records"
import * as Effect from "effect/Effect"
import * as Struct from "effect/Struct"
import * as OwnOptions from "./OwnOptions.ts"

type AnyCredit = Credit.Credit<InvalidOption.InvalidOption>

const options = {
  deviation: Setting.choice({
    choices: ["sample", "population"],
    help: "Standard deviation by which the credit normalized divides (sample unless given)"
  }),
  passK: Setting.int({ least: 2, unit: "attempts", help: "k of the credit pass_at_k; all attempts unless given" }),
  rewardParts: Setting.text({
    help:
      "Metrics that the credit gdpo compares in place of the reward, each with its weight, such as correct=1,format=0.1"
  }),
  roleDecay: Setting.number({
    least: 0,
    most: 0.999_999,
    help: "Decay of the moving averages of the credit role_relative (0.95 unless given)"
  })
}

/** The options that were given. */
interface Given {
  readonly deviation?: Advantage.Deviation
  readonly passK?: number
  readonly rewardParts?: string
  readonly roleDecay?: number
}

interface Rule {
  readonly options: ReadonlyArray<keyof Given>
  readonly make: (given: Given) => AnyCredit
}

/** The weights of metrics, such as `{ correct: 1, format: 0.1 }`; undefined for a text that is no list of them. */
const partsOf = (text: string) => {
  const parts = text.split(",").map((part) => part.split("=").map((side) => side.trim()))
  const isPart = ([name, weight, ...rest]: ReadonlyArray<string>) =>
    rest.length === 0 && name !== "" && weight !== undefined && weight !== "" && Number.isFinite(Number(weight))
  return parts.every(isPart)
    ? Object.fromEntries(parts.map(([name = "", weight]) => [name, Number(weight)]))
    : undefined
}

const rule = <const N extends ReadonlyArray<keyof Given>>(
  options: N,
  make: (given: Pick<Given, N[number]>) => AnyCredit
): Rule => ({ options, make })

const relative = (estimator: Advantage.Estimator) => rule([], () => Credit.groupRelative(estimator))

/** The rules by name, in the order in which they are listed. */
const rules = {
  centered: relative(Advantage.centered),
  normalized: rule(["deviation"], ({ deviation }) => Credit.groupRelative(Advantage.normalized(deviation))),
  leave_one_out: relative(Advantage.leaveOneOut),
  max_rl: relative(Advantage.maxRl),
  length_weighted: relative(Advantage.lengthWeighted),
  pass_at_k: rule(["passK"], ({ passK }) => Credit.groupRelative(Advantage.passAtK(passK))),
  shared_prefix: relative(Advantage.sharedPrefix),
  gdpo: rule(
    ["rewardParts"],
    ({ rewardParts = "" }) => Credit.batchRelative(Advantage.decoupled(partsOf(rewardParts) ?? {}))
  ),
  reinforce_plus_plus: rule([], () => Credit.batchRelative()),
  reinforce_plus_plus_baseline: rule([], () => Credit.batchRelative(Advantage.centered)),
  shrinkage: rule([], () => Credit.shrinkage),
  role_relative: rule(
    ["roleDecay"],
    ({ roleDecay }) => Credit.roleRelative(roleDecay === undefined ? {} : { decay: roleDecay })
  )
}

const isSame = (left: AnyCredit, right: AnyCredit) =>
  left.name === right.name && JSON.stringify(left.config) === JSON.stringify(right.config)

/** The name of the rule that, without options of its own, is this credit; undefined where there is none. */
export const nameOf = (credit: AnyCredit) => Struct.keys(rules).find((name) => isSame(rules[name].make({}), credit))

export const fields = {
  credit: Setting.choice({
    choices: Struct.keys(rules),
    default: "centered",
    help:
      "The rule that turns rewards into advantages: centered subtracts the group's mean; docs/algorithms.md has the others"
  }),
  ...options,
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

interface Settings extends Given {
  readonly credit: keyof typeof rules
  readonly overlongBuffer?: number
  readonly lengthPenalty: number
  readonly quarantine: boolean
  readonly maxTokens: number
}

const refuse = (field: string, found: unknown, expected: string) =>
  Effect.fail(new InvalidOption.InvalidOption({ field, found: String(found), expected }))

/** Fails with the first option that the rule does not have or lacks, and where the buffer for overlong responses is longer than a response may be. */
export const check = Effect.fnUntraced(function*(settings: Omit<Settings, "lengthPenalty" | "quarantine">) {
  const { credit, maxTokens, overlongBuffer = 1, rewardParts } = settings
  yield* OwnOptions.check(`the credit ${credit}`, settings, {
    options: Object.keys(options),
    own: rules[credit].options
  })
  if (credit === "gdpo" && (rewardParts === undefined || partsOf(rewardParts) === undefined)) {
    yield* refuse("rewardParts", rewardParts ?? "left out", "metrics with their weights, such as correct=1,format=0.1")
  }
  if (overlongBuffer > maxTokens) {
    yield* refuse("overlongBuffer", overlongBuffer, `at most the ${maxTokens} tokens of the longest response`)
  }
})

/** The rule, applied after reward shaping and the quarantine. */
export const of = (settings: Settings): AnyCredit => {
  const { credit, lengthPenalty, maxTokens, overlongBuffer, quarantine } = settings
  const { make, options: own }: Rule = rules[credit]
  const chosen = make(Object.fromEntries(OwnOptions.given(settings, own)))
  const penalized = lengthPenalty === 0 ? chosen : Credit.lengthPenalty({ actionTokens: lengthPenalty })(chosen)
  const shaped = overlongBuffer === undefined
    ? penalized
    : Credit.overlong({ maxTokens, buffer: overlongBuffer })(penalized)
  return quarantine ? Audit.quarantine(shaped) : shaped
}
