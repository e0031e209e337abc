/** Prints how fast this library encodes and decodes request bodies. */
import * as Json from "@effect-rl/agent/wire/Json"
import * as PassRequest from "@effect-rl/tinker/wire/PassRequest"
import * as PassResult from "@effect-rl/tinker/wire/PassResult"
import * as Sample from "@effect-rl/tinker/wire/Sample"
import { Effect } from "effect"
import * as Report from "../Report.ts"
import * as Workload from "./Workload.ts"

const seconds = 2

/** The fastest of many repetitions, because other programs only make them slower. */
const rate = (run: () => Uint8Array | number): Workload.Rate => {
  const first = run()
  const bytes = typeof first === "number" ? first : first.length
  let best = Infinity
  const end = performance.now() + 1000 * seconds
  while (performance.now() < end) {
    const start = performance.now()
    run()
    best = Math.min(best, performance.now() - start)
  }
  return { bytes, seconds: best / 1000 }
}

const pass = { modelId: "model", seqId: 1, data: Workload.data(), loss: Workload.loss, forwardOnly: false }

const result = PassResult.encode(Workload.output())
const jsonResult = JSON.stringify(PassResult.toJson(Workload.output()))
const decodeJson = Json.decodeText(PassResult.Body)

const request = { prompt: Workload.prompt(), params: { maxTokens: Workload.maxTokens, stop: [151_645] } }

Report.print(JSON.stringify({
  "protobuf, training request, encode": rate(() => PassRequest.encode(PassRequest.fromPass(pass))),
  "protobuf, training result, decode": rate(() => {
    Effect.runSync(PassResult.decode(result))
    return result.length
  }),
  "JSON, sample request, encode": rate(() => Sample.encode(request, "session", 1)),
  "JSON, training result, decode": rate(() => {
    PassResult.fromJson(Effect.runSync(decodeJson(jsonResult)))
    return jsonResult.length
  })
}))
