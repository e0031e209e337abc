/**
 * The sessions of a gateway. One program uses each session while its episode lasts.
 *
 * Invariants:
 * - A session's name is a secret of 192 random bits. It grants access to this session only.
 * - An ended session is never reopened. Its name is remembered for a while, so late requests are told that it has ended.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { randomBytes } from "node:crypto"
import { ended, Refusal } from "../dialect/Refusal.ts"
import type { Opened } from "../episode/Place.ts"

export interface Sessions {
  /** Opens a session until the scope closes, and returns its name. */
  readonly open: (opened: (name: string) => Opened) => Effect.Effect<string, never, Scope.Scope>
  /** The open session of this name. Fails with 401 without a name, with 410 if the session has ended, and with 404 if it is unknown. */
  readonly find: (name: string | undefined) => Effect.Effect<Opened, Refusal>
}

/** Maximum number of ended sessions to remember. */
const mostOver = 100_000

const unnamed = new Refusal({ status: 401, detail: "no session is named, expected its address or its key" })
const unknown = new Refusal({ status: 404, detail: "no such session" })
const over = ended("this session is over")

export const make = (): Sessions => {
  const open = new Map<string, Opened>()
  const past = new Set<string>()
  const end = (name: string) => {
    open.delete(name)
    past.add(name)
    for (const oldest of past) {
      if (past.size <= mostOver) break
      past.delete(oldest)
    }
  }
  return {
    open: (opened) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          const name = randomBytes(24).toString("base64url")
          open.set(name, opened(name))
          return name
        }),
        (name) => Effect.sync(() => end(name))
      ),
    find: (name) =>
      Effect.suspend(() => {
        if (name === undefined || name === "") return Effect.fail(unnamed)
        const opened = open.get(name)
        if (opened !== undefined) return Effect.succeed(opened)
        return Effect.fail(past.has(name) ? over : unknown)
      })
  }
}
