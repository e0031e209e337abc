import { Sandbox } from "@effect-rl/sandbox"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { randomUUID } from "node:crypto"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import * as Machine from "./Machine.ts"

const providers = [
  ["bubblewrap", Sandbox.Sandbox.layerBubblewrap(), Machine.lacksBubblewrap],
  ["unsafeHost", Sandbox.Sandbox.layerUnsafeHost(), undefined]
] as const

/** Processes on this machine whose command line contains a word. */
const processesWith = (word: string) =>
  readdirSync("/proc").filter((name) => /^\d+$/.test(name)).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(word)
    } catch {
      return false
    }
  })

describe("started processes in a sandbox", { concurrent: false }, () => {
  for (const [name, layer, lacks] of providers) {
    const why = lacks ?? (existsSync("/proc") ? undefined : "no /proc")
    it.live.skipIf(why !== undefined)(
      `of ${name} leave nothing, however their scopes end${why === undefined ? "" : ` (skipped: ${why})`}`,
      () =>
        Effect.gen(function*() {
          const { open } = yield* Sandbox.Sandbox
          const mark = randomUUID()
          const script = "sh -c 'sleep 1000' $1 & sleep 1000"
          const member = Effect.fnUntraced(function*(index: number) {
            const place = yield* open({ runtime: "shell", role: "agent", code: "scripted" })
            yield* place.start(["sh", "-c", script, mark, mark])
            yield* Effect.sleep(`${20 * index} millis`)
            if (index % 3 === 0) return
            if (index % 3 === 1) return yield* Effect.fail("the episode failed")
            return yield* Effect.never
          }, Effect.scoped)
          const members = yield* Effect.forkChild(
            Effect.forEach(Array.from({ length: 12 }, (_, index) => index), (index) => Effect.exit(member(index)), {
              concurrency: 4,
              discard: true
            })
          )
          yield* Effect.repeat(Effect.sync(() => processesWith(mark).length), {
            until: (found) => found > 0
          })
          yield* Effect.sleep("1 second")
          yield* Fiber.interrupt(members)
          assert.deepStrictEqual(processesWith(mark), [])
        }).pipe(Effect.provide(layer)),
      60_000
    )
  }
})
