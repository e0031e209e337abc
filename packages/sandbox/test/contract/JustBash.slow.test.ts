import { Sandbox } from "@effect-rl/sandbox"
import { SandboxContract } from "@effect-rl/sandbox/testing"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as JustBash from "./JustBash.ts"

/**
 * Cases that fail because a busy command blocks this process, so neither limits nor a closed scope end it. just-bash itself ends such a
 * command after a number of steps, with exit code 126.
 */
const broken = new Set([
  "time: a busy program is killed at its limit, and what it printed is kept",
  "output: a flood is cut at the limit, on either stream",
  "scope: closing it kills running programs, and later requests fail as lost"
])

describe.skipIf(JustBash.lacks !== undefined)(
  `the contract of just-bash${JustBash.lacks === undefined ? "" : ` (skipped: ${JustBash.lacks})`}`,
  () => {
    layer(Sandbox.Sandbox.layerSession(JustBash.options), { excludeTestServices: true })((it) => {
      for (const { check, name } of SandboxContract.cases.filter(({ name }) => !broken.has(name))) {
        it.effect(name, () => Effect.map(check, (verdict) => assert.include(["kept", "inapplicable"], verdict)))
      }

      for (const { check, name } of SandboxContract.cases.filter(({ name }) => broken.has(name))) {
        it.effect(`is broken by busy commands, unless they took longer than the limit: ${name}`, () =>
          Effect.match(check, {
            onSuccess: (verdict) => assert.strictEqual(verdict, "kept"),
            onFailure: ({ found }) => assert.match(found, /"code":126,"_tag":"Exited"|"_tag":"TimedOut"/)
          }))
      }

      it.effect("refuses sampled code", () =>
        Effect.gen(function*() {
          const { open } = yield* Sandbox.Sandbox
          const error = yield* Effect.flip(open({ runtime: "shell", role: "agent" }))
          assert.strictEqual(error.reason._tag, "Denied")
        }))
    })
  }
)
