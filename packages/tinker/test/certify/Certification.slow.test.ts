import { Script, TestTokenizer } from "@effect-rl/core/testing"
import { Badge, Certificate, Certification } from "@effect-rl/tinker/certify"
import * as Attempt from "@effect-rl/tinker/certify/Attempt"
import * as Checks from "@effect-rl/tinker/certify/Checks"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { HttpServer } from "effect/http"
import * as BackendMutants from "./BackendMutants.ts"
import * as EffectMutants from "./EffectMutants.ts"
import * as EngineServer from "./EngineServer.ts"
import * as Served from "./Served.ts"
import * as WireMutants from "./WireMutants.ts"

const checks = Checks.all({ baseModel: Script.defaultModel, tokenizer: TestTokenizer.characters })

const titleOf = ({ name, theme }: (typeof checks)[number]) => `${theme}: ${name}`

const mutants = [...WireMutants.all, ...BackendMutants.all, ...EffectMutants.all]

describe("a certificate", () => {
  layer(EngineServer.layer, { excludeTestServices: true })((it) => {
    it.effect("contains every check, and this project's server passes all checks of features that it has", () =>
      Effect.gen(function*() {
        const { address } = yield* HttpServer.HttpServer
        const told: Array<string> = []
        const certificate = yield* Certification.run(
          { baseUrl: HttpServer.formatAddress(address), apiKey: Redacted.make("tml-test"), model: EngineServer.model },
          ({ check, detail, outcome, theme }) =>
            Effect.sync(() => outcome === "passed" ? undefined : told.push(`${outcome}: ${theme}: ${check}: ${detail}`))
        )
        assert.deepStrictEqual(told.map((line) => line.split(": ").slice(0, 3).join(": ")), [
          "absent: logprobs: prompt_alt_tokens_k draws alternative prompt tokens as often as their log-probabilities say",
          "absent: logprobs: without the capability they are Unsupported",
          "absent: archive: a copy of weights into a project returns a path or a refusal that says projects are not supported"
        ])
        assert.lengthOf(certificate.results, checks.length)
        assert.isTrue(Certificate.isGood(certificate))
        const seeds = certificate.results.filter(({ theme }) => theme === "seeds").map(({ detail }) => detail)
        assert.match(seeds.join(), /a seed belongs to a sample/)
        const badge = Badge.svg(certificate)
        const passed = checks.length - told.length
        assert.include(badge, `>${passed} of ${passed} checks<`)
      }))
  })

  it("gives each check a reason and a unique title", () => {
    assert.strictEqual(new Set(checks.map(titleOf)).size, checks.length)
    for (const { why } of checks) assert.match(why, /\.$/)
  })

  it("shows failed checks on its badge", () => {
    const result = { theme: "service", check: "a check", why: "It matters.", detail: "" } as const
    const badge = Badge.svg({ results: [{ ...result, outcome: "passed" }, { ...result, outcome: "failed" }] })
    assert.include(badge, "Tinker API: 1 of 2 checks")
    assert.include(badge, "#c62828")
  })
})

const found = new Set(mutants.map(({ foundBy }) => foundBy))

describe("the server with the scripted backend", () => {
  layer(Served.layer({}), { excludeTestServices: true })((it) => {
    for (const check of checks.filter((one) => found.has(titleOf(one)))) {
      it.effect(`passes "${titleOf(check)}"`, () =>
        Effect.gen(function*() {
          const { detail, outcome } = yield* Attempt.outcome(check)
          assert.strictEqual(outcome, "passed", detail)
        }))
    }
  })
})

describe("a certificate is refused to a server that", () => {
  for (const { fault, foundBy, ...faults } of mutants) {
    it.live(`${fault}, found by "${foundBy}"`, () =>
      Effect.gen(function*() {
        const check = checks.find((one) => titleOf(one) === foundBy)
        assert.isDefined(check)
        if (check === undefined) return
        const { detail, outcome } = yield* Effect.provide(Attempt.outcome(check), Served.layer(faults))
        assert.strictEqual(outcome, "failed", detail)
      }))
  }
})
