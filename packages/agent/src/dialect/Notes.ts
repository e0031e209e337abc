/**
 * What becomes of the fields of one request that change no answer, and of those whose effect cannot be given.
 *
 * @example
 * const policy: Notes.Policy = { isLenient: true, noted: ({ detail }) => Effect.logWarning(detail) }
 */
import type { Message } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import { invalid, type Refusal } from "./Refusal.ts"

/** Something about a request that its caller should know. */
export interface Note {
  /** A field that changes no answer; a field whose effect is not given; a reply that is not what was asked for. */
  readonly kind: "no effect" | "not given" | "not kept"
  readonly field: string
  readonly detail: string
}

/** The treatment of requests that ask for what cannot be given. */
export interface Policy {
  /** Whether such a field is left out, with a warning in the answer, rather than refused. */
  readonly isLenient: boolean
  /** Receives each note, so that a record or a log has it. */
  readonly noted: (note: Note) => Effect.Effect<void>
}

/** Why a reply is not what was asked for; undefined where it is. */
export type Check = (message: Message.Message) => string | undefined

export interface Notes {
  readonly noEffect: (field: string, because: string) => Effect.Effect<void>
  /** Refuses the field, or leaves it out with a warning. */
  readonly notGiven: (field: string, detail: string) => Effect.Effect<void, Refusal>
  /** Looks at every reply for what was asked and is not enforced. */
  readonly expect: (field: string, check: Check) => void
  /** The warnings of the request, and of a reply to it. */
  readonly warnings: (reply: Message.Message) => Effect.Effect<ReadonlyArray<string>>
}

/** The notes of one request. */
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
