/** What a run has cost, what it will cost, and when it will be done. */
import * as Story from "./Story.ts"

export interface Spending {
  /** Tokens so far, of every kind. */
  readonly tokens: number
  /** Tokens of the whole run at this pace; undefined before the first iteration is done, and where the length is unknown. */
  readonly expected: number | undefined
  /** The run stops before it spends more tokens. */
  readonly cap: number | undefined
  /** The cap will stop the run before its last iteration. */
  readonly isCapped: boolean
  /** Milliseconds until the last iteration, at the pace of the newest ones; undefined where the run has ended or nothing tells. */
  readonly remaining: number | undefined
}

const newest = 10

const pace = (story: Story.Story) => {
  const ends = Story.iterations(story).flatMap(({ updated }) => updated === undefined ? [] : [updated.at])
  const last = ends.slice(-newest - 1)
  const [from, to] = [last.at(0), last.at(-1)]
  return from === undefined || to === undefined || last.length < 2 ? undefined : (to - from) / (last.length - 1)
}

const capOf = ({ opened }: Story.Story) => {
  const cap = opened?.settings["max_tokens_total"]
  return typeof cap === "number" ? cap : undefined
}

export const make = (story: Story.Story): Spending => {
  const tokens = Story.tokens(story)
  const done = Story.done(story)
  const iterations = story.opened?.iterations ?? undefined
  const expected = done === 0 || iterations === undefined ? undefined : Math.max(tokens, (tokens / done) * iterations)
  const cap = capOf(story)
  const each = story.end === undefined ? pace(story) : undefined
  return {
    tokens,
    expected,
    cap,
    isCapped: cap !== undefined && expected !== undefined && expected > cap,
    remaining: each === undefined || iterations === undefined ? undefined : each * Math.max(0, iterations - done)
  }
}
