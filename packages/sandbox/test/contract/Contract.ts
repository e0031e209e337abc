import { type Sandbox, type SandboxError } from "@effect-rl/sandbox"
import { SandboxContract } from "@effect-rl/sandbox/testing"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, type Layer } from "effect"

/** Runs the contract against a provider. `lacks` says what this machine lacks to run it; the tests are then skipped. */
export const contract = (
  provider: string,
  provided: Layer.Layer<Sandbox.Sandbox, SandboxError.SandboxError>,
  lacks: string | undefined
) =>
  describe.skipIf(lacks !== undefined)(
    `the contract of ${provider}${lacks === undefined ? "" : ` (skipped: ${lacks})`}`,
    () => {
      layer(provided, { excludeTestServices: true })((it) => {
        for (const { check, name } of SandboxContract.cases) {
          it.effect(name, () => Effect.map(check, (verdict) => assert.include(["kept", "inapplicable"], verdict)))
        }
      })
    }
  )
