/** Signed links that grant access to one resource for 15 minutes without a key. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto"
import { type HttpRefusal, notFound } from "./HttpRefusal.ts"

export interface SignedLinks {
  readonly make: (target: string) => Effect.Effect<{ readonly path: string; readonly expires: Date }>
  readonly open: (path: string) => Effect.Effect<string, HttpRefusal>
}

const validMillis = 15 * 60_000

export const make = Effect.sync((): SignedLinks => {
  const secret = randomBytes(32)

  const signature = (expires: number, target: string) =>
    createHmac("sha256", secret).update(`${expires}/${target}`).digest("hex")

  const isSigned = (given: string, expires: number, target: string) => {
    const expected = Buffer.from(signature(expires, target))
    const actual = Buffer.from(given)
    return actual.length === expected.length && timingSafeEqual(actual, expected)
  }

  return {
    make: (target) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const expires = now + validMillis
        return { path: `${signature(expires, target)}/${expires}/${target}`, expires: new Date(expires) }
      }),
    open: (path) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const [given = "", until = "", ...rest] = path.split("/")
        const target = rest.join("/")
        return Number(until) > now && isSigned(given, Number(until), target)
          ? Effect.succeed(target)
          : Effect.fail(notFound("link", path))
      })
  }
})
