import { Script } from "@effect-rl/core/testing"
import * as Engine from "@effect-rl/engine/Engine"
import { Badge, Certificate, Certification, TinkerServer } from "@effect-rl/tinker"
import * as Attempt from "@effect-rl/tinker/certify/Attempt"
import * as Checks from "@effect-rl/tinker/certify/Checks"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Redacted } from "effect"
import { FetchHttpClient, HttpServer } from "effect/http"
import * as Sockets from "../Sockets.ts"
import * as BackendMutants from "./BackendMutants.ts"
import * as Served from "./Served.ts"
import * as WireMutants from "./WireMutants.ts"

const checks = Checks.all(Script.defaultModel)

const titleOf = ({ name, theme }: (typeof checks)[number]) => `${theme}: ${name}`

const mutants = [...WireMutants.all, ...BackendMutants.all]

/** This project's server before the engine. */
const server = Layer.unwrap(Effect.gen(function*() {
  const checkpoints = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
  return TinkerServer.layer({ checkpoints: { folder: checkpoints, scheme: "engine" } }).pipe(
    Layer.provide(Engine.layerOptions({ checkpoints, workers: 2 }))
  )
})).pipe(
  Layer.provideMerge(Sockets.layer),
  Layer.provideMerge(FetchHttpClient.layer),
  Layer.provide(NodeServices.layer)
)

describe("a certificate", () => {
  layer(server, { excludeTestServices: true })((it) => {
    it.effect("has every check, and this project's server passes all of them", () =>
      Effect.gen(function*() {
        const { address } = yield* HttpServer.HttpServer
        const told: Array<string> = []
        const certificate = yield* Certification.run(
          { baseUrl: HttpServer.formatAddress(address), apiKey: Redacted.make("tml-test"), model: "effect-rl/tiny-64" },
          ({ check, detail, outcome, theme }) =>
            Effect.sync(() => outcome === "passed" ? undefined : told.push(`${outcome}: ${theme}: ${check}: ${detail}`))
        )
        assert.deepStrictEqual(told, [])
        assert.lengthOf(certificate.results, checks.length)
        assert.isTrue(Certificate.isGood(certificate))
        const seeds = certificate.results.find(({ theme }) => theme === "seeds")
        assert.match(seeds?.detail ?? "", /^a seed is that of its sample/)
        const badge = Badge.svg(certificate)
        assert.include(badge, `>${checks.length} of ${checks.length} checks<`)
      }))
  })

  it("says of every check what it asks for and why, under a title of its own", () => {
    assert.strictEqual(new Set(checks.map(titleOf)).size, checks.length)
    for (const { why } of checks) assert.match(why, /\.$/)
  })

  it("shows on its badge that a check failed", () => {
    const result = { theme: "service", check: "a check", why: "It matters.", detail: "" } as const
    const badge = Badge.svg({ results: [{ ...result, outcome: "passed" }, { ...result, outcome: "failed" }] })
    assert.include(badge, "Tinker API: 1 of 2 checks")
    assert.include(badge, "#c62828")
  })
})

const found = new Set(mutants.map(({ foundBy }) => foundBy))

describe("before the scripted backend, the server", () => {
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
