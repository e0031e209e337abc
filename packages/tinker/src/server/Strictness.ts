/** How to treat requests that this server could carry out but the hosted service refuses. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { type HttpRefusal, invalid } from "./HttpRefusal.ts"

/** A restriction of the hosted service. */
export interface Rule {
  /** Names the field, its value and the expectation. */
  readonly detail: string
  /** The public source: a page, or a type in the official SDK. Undefined if the refusal was only observed or is only likely. */
  readonly source: string | undefined
}

/**
 * A strict server refuses requests that violate a rule with a public source, logs a warning for other rules, and refuses unknown fields.
 * Any other server only logs a warning for unknown fields.
 */
export class Strictness extends Context.Service<Strictness, {
  readonly isStrict: boolean
  /** On a strict server, fails if the rule is violated, or logs a warning if the rule has no source. Does nothing on other servers. */
  readonly check: (isWithin: boolean, rule: Rule) => Effect.Effect<void, HttpRefusal>
  /** Handles a field that this server ignores: a strict server refuses it, any other server logs a warning once. */
  readonly unread: (detail: string) => Effect.Effect<void, HttpRefusal>
}>()("@effect-rl/tinker/server/Strictness") {}

/** How many logged warnings are remembered to avoid repetition. */
const mostWarnings = 1000

/** Maximum length of a warning, because clients choose the length of field names. */
const longestWarning = 300

/** The source for refusing unknown fields: no request type of the official SDK allows them. */
const exactFields = "tinker 0.38.0, _models.py: StrictBase forbids extra fields"

export const make = (isStrict: boolean): Strictness["Service"] => {
  const warned = new Set<string>()
  const warn = (text: string) =>
    Effect.suspend(() => {
      // A copy, because a slice would keep the whole text in memory.
      const detail = Buffer.from(text.slice(0, longestWarning)).toString()
      if (warned.has(detail) || warned.size >= mostWarnings) return Effect.void
      warned.add(detail)
      return Effect.logWarning(detail)
    })
  const refuse = (detail: string, source: string) => Effect.fail(invalid(`${detail} (strict: ${source})`))
  return {
    isStrict,
    check: (isWithin, { detail, source }) => {
      if (isWithin || !isStrict) return Effect.void
      return source === undefined ? warn(`the hosted service may refuse this: ${detail}`) : refuse(detail, source)
    },
    unread: (detail) =>
      isStrict ? refuse(detail, exactFields) : warn(`a request has a field that this server ignores: ${detail}`)
  }
}
