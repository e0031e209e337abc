/**
 * What a run has cost, what it will cost, and its caps, as its records tell it.
 *
 * @example
 * const stopping = (story: Story.Story<null>) => Spending.stopping(Spending.make(story)).map(({ cap }) => cap)
 */
import * as Story from "@effect-rl/core/story/Story"
import type * as Entry from "./Entry.ts"

type Spent = Entry.Updated["spent"]

/** One thing that is counted, and may be limited. */
export interface Account {
  /** The setting that limits it. */
  readonly cap: "max_tokens_total" | "max_dollars" | "max_minutes" | "max_judge_calls"
  /** Undefined where it is not known, such as dollars without prices. */
  readonly spent: number | undefined
  /** The forecast for the whole run at its present rate; undefined before the first iteration is done, or if the length is unknown. */
  readonly expected: number | undefined
  /** The run stops before it spends more. */
  readonly limit: number | undefined
}

export interface Spending {
  readonly tokens: Account
  readonly dollars: Account
  readonly minutes: Account
  readonly judgeCalls: Account
  /** Milliseconds until the last iteration, at the present rate; undefined where the run has ended or nothing tells. */
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

/** The caps that will stop the run before its last iteration at the present rate. */
export const stopping = ({ dollars, judgeCalls, minutes, tokens }: Spending): ReadonlyArray<Account> =>
  [tokens, dollars, minutes, judgeCalls].filter(({ expected = 0, limit = Infinity }) => expected > limit)
