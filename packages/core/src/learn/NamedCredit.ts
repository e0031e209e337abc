/**
 * The table of credit rules that can be chosen by name on the command line, in configuration files and on the page. Each entry says which
 * options a rule has and how it is made. A rule added here becomes a setting of every recipe, and recorded runs can be credited again with
 * it.
 *
 * @example
 * const credit = NamedCredit.make("pass_at_k", { passK: 4 })
 */
import * as Struct from "effect/Struct"
import type * as InvalidOption from "../settings/InvalidOption.ts"
import * as Setting from "../settings/Setting.ts"
import * as Advantage from "./Advantage.ts"
import * as Credit from "./Credit.ts"

/** A rule of the table. It fails if its options do not fit the environment of the groups. */
export type NamedCredit = Credit.Credit<InvalidOption.InvalidOption>

/** The options of all rules, as settings. */
export const options = {
  /** Standard deviation by which the credit normalized divides (sample unless given). */
  deviation: Setting.choice({
    choices: ["sample", "population"],
    help: "Standard deviation by which the credit normalized divides (sample unless given)"
  }),
  /** k of the credit pass_at_k; all attempts unless given. */
  passK: Setting.int({ least: 2, unit: "attempts", help: "k of the credit pass_at_k; all attempts unless given" }),
  /** Metrics that the credit gdpo compares in place of the reward, each with its weight, such as correct=1,format=0.1. */
  rewardParts: Setting.text({
    help:
      "Metrics that the credit gdpo compares in place of the reward, each with its weight, such as correct=1,format=0.1"
  }),
  /** Decay of the moving averages of the credit role_relative (0.95 unless given). */
  roleDecay: Setting.number({
    least: 0,
    most: 0.999_999,
    help: "Decay of the moving averages of the credit role_relative (0.95 unless given)"
  })
}

type OptionName = keyof typeof options

/** The options that were given. */
export interface Given {
  readonly deviation?: Advantage.Deviation
  readonly passK?: number
  readonly rewardParts?: string
  readonly roleDecay?: number
}

interface Entry {
  readonly options: ReadonlyArray<OptionName>
  readonly make: (given: Given) => NamedCredit
}

const entry = <const N extends ReadonlyArray<OptionName>>(
  options: N,
  make: (given: Pick<Given, N[number]>) => NamedCredit
): Entry => ({ options, make })

const relative = (estimator: Advantage.Estimator) => entry([], () => Credit.groupRelative(estimator))

/** Parses metric weights such as `correct=1,format=0.1`; undefined if the text is not such a list. */
export const partsOf = (text: string): Readonly<Record<string, number>> | undefined => {
  const parts = text.split(",").map((part) => part.split("=").map((side) => side.trim()))
  const isPart = ([name, weight, ...rest]: ReadonlyArray<string>) =>
    rest.length === 0 && name !== "" && weight !== undefined && weight !== "" && Number.isFinite(Number(weight))
  return parts.every(isPart)
    ? Object.fromEntries(parts.map(([name = "", weight]) => [name, Number(weight)]))
    : undefined
}

const rules = {
  centered: relative(Advantage.centered),
  normalized: entry(["deviation"], ({ deviation }) => Credit.groupRelative(Advantage.normalized(deviation))),
  leave_one_out: relative(Advantage.leaveOneOut),
  max_rl: relative(Advantage.maxRl),
  length_weighted: relative(Advantage.lengthWeighted),
  pass_at_k: entry(["passK"], ({ passK }) => Credit.groupRelative(Advantage.passAtK(passK))),
  shared_prefix: relative(Advantage.sharedPrefix),
  gdpo: entry(
    ["rewardParts"],
    ({ rewardParts = "" }) => Credit.batchRelative(Advantage.decoupled(partsOf(rewardParts) ?? {}))
  ),
  reinforce_plus_plus: entry([], () => Credit.batchRelative()),
  reinforce_plus_plus_baseline: entry([], () => Credit.batchRelative(Advantage.centered)),
  shrinkage: entry([], () => Credit.shrinkage),
  role_relative: entry(
    ["roleDecay"],
    ({ roleDecay }) => Credit.roleRelative(roleDecay === undefined ? {} : { decay: roleDecay })
  )
}

/** The name of a rule in the table. */
export type Name = keyof typeof rules

/** All names, in the order in which the help lists them. */
export const names: ReadonlyArray<Name> = Struct.keys(rules)

/** The names of the options that the named rule has. */
export const optionsOf = (name: Name): ReadonlyArray<OptionName> => rules[name].options

/** The name of a rule that has no required options. */
export type Complete = Exclude<Name, "gdpo">

/** Whether the name is that of a rule without required options. */
export const isComplete = (name: string): name is Complete => Object.hasOwn(rules, name) && name !== "gdpo"

/** Makes the named rule with its given options. Options of other rules are ignored. */
export const make = (name: Name, given: Given = {}): NamedCredit => {
  const { make, options }: Entry = rules[name]
  return make(Struct.pick(given, options))
}

const isSame = (left: NamedCredit, right: NamedCredit) =>
  left.name === right.name && JSON.stringify(left.config) === JSON.stringify(right.config)

/** The name of the rule that equals this credit if it is made without options; undefined if there is none. */
export const nameOf = (credit: NamedCredit): Name | undefined => names.find((name) => isSame(make(name), credit))
