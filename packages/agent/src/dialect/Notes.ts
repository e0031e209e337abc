/**
 * Records which fields of a request had no effect, were not given their effect, or were not honored by a reply.
 *
 * @example
 * const policy: Notes.Policy = { isLenient: true, noted: ({ detail }) => Effect.logWarning(detail) }
 */
import type { Message } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import { invalid, type Refusal } from "./Refusal.ts"

/** A remark on a request for its caller. */
export interface Note {
  /**
   * `no effect`: the field changes no answer. `not given`: the requested effect is not available. `not kept`: a reply violates the request.
   */
  readonly kind: "no effect" | "not given" | "not kept"
  readonly field: string
  readonly detail: string
}

/** How to treat requests for unavailable effects. */
export interface Policy {
  /** Whether an unavailable field is dropped with a warning in the answer instead of refused. */
  readonly isLenient: boolean
  /** Receives each note, for a record or a log. */
  readonly noted: (note: Note) => Effect.Effect<void>
}

/** Returns why a reply violates the request; undefined if it does not. */
export type Check = (message: Message.Message) => string | undefined

export interface Notes {
  readonly noEffect: (field: string, because: string) => Effect.Effect<void>
  /** Refuses the field or, for a lenient caller, drops it with a warning. */
  readonly notGiven: (field: string, detail: string) => Effect.Effect<void, Refusal>
  /** Registers a check on every reply, for a requirement that sampling does not enforce. */
  readonly expect: (field: string, check: Check) => void
  /** The warnings about the request and about this reply to it. */
  readonly warnings: (reply: Message.Message) => Effect.Effect<ReadonlyArray<string>>
}

/** Creates the notes of one request. */
export const make = ({ isLenient, noted }: Policy): Notes => {
  const warnings: Array<string> = []
  const checks: Array<readonly [field: string, check: Check]> = []
  return {
    noEffect: (field, because) => noted({ kind: "no effect", field, detail: because }),
    notGiven: (field, detail) =>
      Effect.suspend(() => {
        if (!isLenient) return Effect.fail(invalid(detail, field))
        warnings.push(detail)
        return noted({ kind: "not given", field, detail })
      }),
    expect: (field, check) => {
      checks.push([field, check])
    },
    warnings: (reply) =>
      Effect.suspend(() => {
        const broken = checks.flatMap(([field, check]) => {
          const problem = check(reply)
          return problem === undefined ? [] : [{ kind: "not kept", field, detail: `${field}: ${problem}` } as const]
        })
        return Effect.as(Effect.forEach(broken, noted), [...warnings, ...broken.map(({ detail }) => detail)])
      })
  }
}
