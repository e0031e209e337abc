/**
 * A run's cost so far, its forecast and its caps, computed from its records.
 *
 * @example
 * const stopping = (story: Story.Story<null>) => Spending.stopping(Spending.make(story)).map(({ cap }) => cap)
 */
import * as Story from "@effect-rl/core/story/Story"
import type * as Entry from "./Entry.ts"

type Spent = Entry.Updated["spent"]

/** A counted quantity that may have a limit. */
export interface Account {
  /** The setting that limits the quantity. */
  readonly cap: "max_tokens_total" | "max_dollars" | "max_minutes" | "max_judge_calls"
  /** The amount so far; undefined if unknown, for example dollars without prices. */
  readonly spent: number | undefined
  /**
   * The forecast for the whole run at its current rate; undefined before the first iteration is done, or if the run's length is unknown.
   */
  readonly expected: number | undefined
  /** The run stops before it exceeds this limit. */
  readonly limit: number | undefined
}

export interface Spending {
  readonly tokens: Account
  readonly dollars: Account
  readonly minutes: Account
  readonly judgeCalls: Account
  /** Milliseconds until the last iteration at the current rate; undefined if the run has ended or there is no forecast. */
  readonly remaining: number | undefined
}

const known = (value: number | null | undefined) => value ?? undefined

const all = ({ prefilled, sampled, trained }: Spent) => (prefilled ?? 0) + (sampled ?? 0) + (trained ?? 0)

const minutes = ({ seconds }: Spent) => typeof seconds === "number" ? seconds / 60 : undefined

export const make = (story: Story.Story<null>): Spending => {
  const latest = Story.lastUpdated(story)
  const account = (cap: Account["cap"], amount: (spent: Spent) => number | undefined): Account => {
    const limit = story.opened?.settings[cap]
    return {
      cap,
      spent: amount(story.spent),
      expected: latest?.forecast === undefined ? undefined : amount(latest.forecast),
      limit: typeof limit === "number" ? limit : undefined
    }
  }
  const seconds = known(latest?.forecast?.seconds)
  return {
    tokens: account("max_tokens_total", all),
    dollars: account("max_dollars", ({ dollars }) => known(dollars)),
    minutes: account("max_minutes", minutes),
    judgeCalls: account("max_judge_calls", ({ judgeCalls }) => known(judgeCalls)),
    remaining: seconds === undefined || story.end !== undefined
      ? undefined
      : 1000 * Math.max(0, seconds - (latest?.spent.seconds ?? 0))
  }
}

type Value = NonNullable<Story.Story<null>["opened"]>["settings"][string]

const fieldOf = (value: Value | undefined, name: string): Value | undefined =>
  typeof value === "object" && value !== null ? Object.entries(value).find(([key]) => key === name)?.[1] : undefined

/** US dollars by kind of token. */
export type KindDollars = Readonly<Record<"prefilled" | "sampled" | "trained", number>>

/**
 * The largest accepted difference between the sum over the kinds and the dollars that the run recorded, as a fraction
 * of the latter.
 */
const departure = 0.005

/** US dollars by kind of token; undefined without prices, or if tokens of other models were paid for too. */
export const dollarsOfKinds = (story: Story.Story<null>): KindDollars | undefined => {
  const { cached, dollars, prefilled, sampled, trained } = story.spent
  const price = fieldOf(story.opened?.settings["prices"], Story.model(story))
  const each = (name: string) => {
    const found = fieldOf(price, name)
    return typeof found === "number" ? found : undefined
  }
  const cost = (tokens: number, price = 0) => tokens * price * 1e-6
  const fromCache = cached ?? 0
  const found = {
    prefilled: cost((prefilled ?? 0) - fromCache, each("prefill")) + cost(fromCache, each("cached") ?? each("prefill")),
    sampled: cost(sampled ?? 0, each("sample")),
    trained: cost(trained ?? 0, each("train"))
  }
  const sum = found.prefilled + found.sampled + found.trained
  const paid = known(dollars)
  return paid === undefined || Math.abs(sum - paid) > departure * paid ? undefined : found
}

/** What tokens were used for. */
export interface Purpose {
  readonly name: "training" | "judges" | "evaluation" | "updates" | "other"
  readonly prefilled: number
  readonly sampled: number
  readonly trained: number
  /** US dollars; undefined if they are unknown, and always for `judges`. */
  readonly dollars: number | undefined
}

type Tokens = Record<"prefilled" | "sampled" | "trained", number>

const nothing = (): Tokens => ({ prefilled: 0, sampled: 0, trained: 0 })

const add = (sum: Tokens, { prefilled, sampled, trained }: Spent, sign = 1) => {
  sum.prefilled += sign * (prefilled ?? 0)
  sum.sampled += sign * (sampled ?? 0)
  sum.trained += sign * (trained ?? 0)
}

/** Tokens of a group's members, prompts and samples, in the attempts that count. */
const ofMembers = ({ members }: Entry.Group): Spent => ({
  prefilled: members.reduce((sum, member) => sum + (member?.observed ?? 0), 0),
  sampled: members.reduce((sum, member) => sum + (member?.sampled ?? 0), 0),
  trained: 0
})

/**
 * What the run spent, by purpose; empty if its groups did not record their tokens. `judges` also contains other players and repeated
 * attempts. `other` is everything outside of groups and updates that count, such as references, and iterations that a resume abandoned.
 *
 * @example
 * const evaluating = (story: Story.Story<null>) => Spending.purposes(story).find(({ name }) => name === "evaluation")?.sampled
 */
export const purposes = (story: Story.Story<null>): ReadonlyArray<Purpose> => {
  const tokens = { training: nothing(), judges: nothing(), evaluation: nothing(), updates: nothing(), other: nothing() }
  const dollars = { training: 0, judges: 0, evaluation: 0, updates: 0, other: 0 }
  let before: Spent = { ...nothing(), dollars: 0 }
  const measured = new Set<string>()
  const pay = (name: Purpose["name"], spent: Spent | undefined) => {
    const [now, then] = [known(spent?.dollars), known(before.dollars)]
    if (now !== undefined && then !== undefined) dollars[name] += now - then
    before = spent ?? before
  }
  for (const record of story.records) {
    switch (record._tag) {
      case "GroupRolledOut": {
        const { evaluator, spent, usage } = record
        if (usage === undefined) return []
        pay(evaluator === undefined ? "training" : "evaluation", spent)
        if (evaluator !== undefined) {
          measured.add(evaluator)
          add(tokens.evaluation, usage)
          break
        }
        const members = ofMembers(record)
        add(tokens.training, members)
        add(tokens.judges, usage)
        add(tokens.judges, members, -1)
        break
      }
      case "Evaluated":
        // An evaluator of examples has no groups.
        if (!measured.has(record.evaluator)) {
          add(tokens.evaluation, record.spent)
          add(tokens.evaluation, before, -1)
        }
        pay("evaluation", record.spent)
        break
      case "Updated":
        pay("updates", record.spent)
        break
      case "Finished":
      case "Failed":
        pay("other", record.spent)
        break
    }
  }
  const { spent } = story
  for (const name of ["training", "judges", "evaluation"] as const) {
    tokens.updates.trained -= tokens[name].trained
  }
  tokens.updates.trained += spent.trained ?? 0
  add(tokens.other, spent)
  for (const name of ["training", "judges", "evaluation", "updates"] as const) add(tokens.other, tokens[name], -1)
  const names = ["training", "judges", "evaluation", "updates", "other"] as const
  return names.map((name): Purpose => ({
    name,
    ...tokens[name],
    dollars: known(spent.dollars) === undefined || name === "judges" ? undefined : dollars[name]
  })).filter(({ prefilled, sampled, trained }) => prefilled + sampled + trained > 0)
}

/** The caps that will stop the run before its last iteration at the current rate. */
export const stopping = ({ dollars, judgeCalls, minutes, tokens }: Spending): ReadonlyArray<Account> =>
  [tokens, dollars, minutes, judgeCalls].filter(({ expected = 0, limit = Infinity }) => expected > limit)
