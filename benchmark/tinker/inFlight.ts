/**
 * Sends `argv[3]` concurrent sampling requests to the service `argv[2]`, over undici, or over `fetch` if `argv[4]` says so. Prints the
 * number of failures, the time and the cost.
 */
import { Tinker } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { TinkerHttp } from "@effect-rl/tinker"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Exit, Layer, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Report from "../Report.ts"
import * as Workload from "./Workload.ts"

const [, , baseUrl = "", count = "0", transport = "undici"] = process.argv

const request = {
  prompt: ModelInput.fromTokens(Workload.tokens(0).slice(0, 256)),
  params: { maxTokens: Workload.maxTokens }
}

const sampled = (
  client: { readonly sample: (one: typeof request) => Effect.Effect<unknown, unknown> },
  times: number
) =>
  Effect.forEach(Array.from({ length: times }), () => Effect.exit(client.sample(request)), { concurrency: "unbounded" })

const measured = Effect.gen(function*() {
  const tinker = yield* Tinker.Tinker
  const client = yield* tinker.createSamplingClient({ baseModel: "model" })
  yield* sampled(client, 500)
  const cpu = process.cpuUsage()
  const start = performance.now()
  const exits = yield* sampled(client, Number(count))
  const { system, user } = process.cpuUsage(cpu)
  return {
    failures: exits.filter(Exit.isFailure).length,
    seconds: (performance.now() - start) / 1000,
    cpuMicros: system + user,
    rssMegabytes: process.resourceUsage().maxRSS / 1024
  }
})

const client = TinkerHttp.layerOptions({ baseUrl, apiKey: Redacted.make("tml-benchmark") }).pipe(
  Layer.provide(transport === "fetch" ? FetchHttpClient.layer : NodeHttpClient.layerUndici)
)

const result = await Effect.runPromise(Effect.scoped(Effect.provide(measured, client)))
Report.print(JSON.stringify(result))
process.exit(0)
