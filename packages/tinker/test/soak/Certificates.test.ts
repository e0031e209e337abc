/** Repeated certification of correct servers, and of servers with faults whose checks take seconds. */
import { Script } from "@effect-rl/core/testing"
import { Certification } from "@effect-rl/tinker/certify"
import * as Attempt from "@effect-rl/tinker/certify/Attempt"
import * as Checks from "@effect-rl/tinker/certify/Checks"
import { assert, describe, it } from "@effect/vitest"
import { Array, Effect, Redacted, Result } from "effect"
import { HttpServer } from "effect/http"
import * as BackendMutants from "../certify/BackendMutants.ts"
import * as EffectMutants from "../certify/EffectMutants.ts"
import * as EngineServer from "../certify/EngineServer.ts"
import * as FifthSealedFaults from "../certify/FifthSealedFaults.ts"
import * as FourthSealedFaults from "../certify/FourthSealedFaults.ts"
import * as OpenFaults from "../certify/OpenFaults.ts"
import * as SealedFaults from "../certify/SealedFaults.ts"
import * as SecondFaults from "../certify/SecondFaults.ts"
import * as Served from "../certify/Served.ts"
import * as ThirdSealedFaults from "../certify/ThirdSealedFaults.ts"
import * as UnforeseenFaults from "../certify/UnforeseenFaults.ts"
import * as WireMutants from "../certify/WireMutants.ts"

const runs = 20

const checks = Checks.all({ baseModel: Script.defaultModel })

describe.skipIf(process.env["EFFECT_RL_SOAK"] === undefined)("certificates", () => {
  it.live(`raise no false alarm in ${runs} runs`, () =>
    Effect.gen(function*() {
      const { address } = yield* HttpServer.HttpServer
      const options = {
        baseUrl: HttpServer.formatAddress(address),
        apiKey: Redacted.make("tml-test"),
        model: EngineServer.model
      }
      const failed: Array<string> = []
      yield* Effect.forEach(Array.range(1, runs), () =>
        Certification.run(options, ({ check, detail, outcome }) =>
          Effect.sync(() => {
            if (outcome === "failed") {
              failed.push(`${check}: ${detail}`)
            }
          })), { discard: true })
      assert.deepStrictEqual(failed, [])
    }).pipe(Effect.provide(EngineServer.layer)), 1_800_000)

  for (const { fault, foundBy, ...faults } of [...WireMutants.long, ...BackendMutants.long, ...EffectMutants.long]) {
    it.live(`are refused to a server that ${fault}, found by "${foundBy}"`, () =>
      Effect.gen(function*() {
        const check = checks.find(({ name, theme }) => `${theme}: ${name}` === foundBy)
        assert.isDefined(check)
        if (check === undefined) return
        const { detail, outcome } = yield* Effect.provide(Attempt.outcome(check), Served.layer(faults))
        assert.strictEqual(outcome, "failed", detail)
      }))
  }

  for (const { fault, foundBy, ...faults } of EffectMutants.engine) {
    it.live(`are refused to an engine's server that ${fault}, found by "${foundBy}"`, () =>
      Effect.gen(function*() {
        const check = checks.find(({ name, theme }) => `${theme}: ${name}` === foundBy)
        assert.isDefined(check)
        if (check === undefined) return
        const { detail, outcome } = yield* Effect.provide(Attempt.outcome(check), EngineServer.clients)
        assert.strictEqual(outcome, "failed", detail)
      }).pipe(Effect.provide(EngineServer.layerOf(faults))))
  }

  const unforeseen = [
    ...UnforeseenFaults.faults,
    ...SealedFaults.faults,
    ...SecondFaults.faults,
    ...ThirdSealedFaults.faults,
    ...OpenFaults.faults,
    ...FourthSealedFaults.faults,
    ...FifthSealedFaults.faults
  ]

  for (const fault of unforeseen) {
    it.live(`are refused to a server with an unforeseen fault: ${fault.sentence}`, () =>
      Effect.gen(function*() {
        const { address } = yield* HttpServer.HttpServer
        const options = {
          baseUrl: HttpServer.formatAddress(address),
          apiKey: Redacted.make("tml-test"),
          model: EngineServer.model
        }
        const outcome = yield* Effect.result(
          Certification.run(options, ({ check, outcome }) => outcome === "failed" ? Effect.fail(check) : Effect.void)
        )
        assert.isTrue(Result.isFailure(outcome))
      }).pipe(Effect.provide(EngineServer.layerOf(fault))), 300_000)
  }
})
