/** The handling of requests that this server could carry out and the hosted service refuses. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { type HttpRefusal, invalid } from "./HttpRefusal.ts"

/** Something that the hosted service refuses. */
export interface Rule {
  /** Names the field, its value and what is expected. */
  readonly detail: string
  /** The public source: a page, or a type of the official SDK; undefined where the refusal was only seen or is likely. */
  readonly source: string | undefined
}

/** A strict server refuses a request that breaks a rule with a public source, and warns of the others; any other server logs each once. */
export class Strictness extends Context.Service<Strictness, {
  readonly isStrict: boolean
  /** On a strict server, fails if the rule is broken, or warns if it has no known source. */
  readonly check: (isWithin: boolean, rule: Rule) => Effect.Effect<void, HttpRefusal>
  /** A field that this server does not know, and so does not read. */
  readonly unread: (detail: string) => Effect.Effect<void, HttpRefusal>
}>()("@effect-rl/tinker/server/Strictness") {}

/** Warnings that are remembered so as not to be repeated. */
const mostWarnings = 1000

/** Characters of a warning: names of fields are as long as a client makes them. */
const longestWarning = 300

/** All requests of the official SDK are of a type that allows no other fields. */
const exactFields = "tinker 0.38.0, _models.py: StrictBase forbids extra fields"

export const make = (isStrict: boolean): Strictness["Service"] => {
  const warned = new Set<string>()
  const warn = (text: string) =>
    Effect.suspend(() => {
      // A copy, as a slice would keep all of the text in memory.
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
