/**
 * Compares sampling from SmolLM2 on the engine and on llama.cpp, with the same packed weights. They run alternately, each in a separate
 * process. `LLAMA_FOLDER` names a folder whose `node_modules` contains node-llama-cpp, and `GGUF_PYTHON` a Python with `gguf` for weights
 * in Q8_0; without one, that part is left out. `npm run smollm2` downloads the weights.
 */
import { SmolLm2 } from "@effect-rl/engine"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Schema } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Process from "../Process.ts"
import * as Quiet from "../Quiet.ts"
import * as Report from "../Report.ts"
import * as Prompts from "./smollm2/Prompts.ts"

const rounds = 3
const llama = process.env["LLAMA_FOLDER"]
const python = process.env["GGUF_PYTHON"]

const here = (file: string) => join(import.meta.dirname, "smollm2", file)

const original = await Effect.runPromise(SmolLm2.file.pipe(Effect.provide(NodeServices.layer)))
const scratch = mkdtempSync(join(tmpdir(), "effect-rl-smollm2-"))
const files = new Map([["Q4_1", original]])
if (python !== undefined) {
  const file = join(scratch, "SmolLM2-135M-Instruct.Q8_0.gguf")
  Process.run(python, here("requantise.py"), original, file)
  files.set("Q8_0", file)
}

const contestants = new Map(
  [...files].flatMap(([type, file]) => {
    const ours = [`effect-rl, ${type}`, () => Process.node(here("ours.ts"), file)] as const
    return llama === undefined
      ? [ours]
      : [ours, [`llama.cpp, ${type}`, () => Process.node(here("llama.ts"), file, llama)] as const]
  })
)

const speeds = Array.from({ length: rounds }, () => Quiet.round(contestants, Schema.Finite))
rmSync(scratch, { recursive: true })

const of = (name: string) => Report.median(speeds.map((round) => round.get(name) ?? NaN))

/** The engine's rate divided by a contestant's on the same weights: the median over rounds of the ratio within a round. */
const ratio = (name: string) => {
  const own = name.replace("llama.cpp", "effect-rl")
  return Report.median(speeds.map((round) => (round.get(own) ?? NaN) / (round.get(name) ?? NaN)))
}

Report.publish("smollm2-sampling", "Sampling from SmolLM2", [
  `SmolLM2-135M-Instruct in ${
    [...files.keys()].join(" and ")
  }, ${Prompts.count} concurrent prompts of ${Prompts.tokens.length} tokens, ${Prompts.newTokens} new tokens each at temperature 1. Numbers are medians of ${rounds}
alternating rounds; each ratio compares times of one round. ${Quiet.disturbance()}`,
  Report.table(
    ["", "sampled tokens/s", "effect-rl to it"],
    [...contestants.keys()].map((name) => [name, of(name).toFixed(0), `${ratio(name).toFixed(2)}×`])
  ),
  ...(llama === undefined ? ["llama.cpp was left out: `LLAMA_FOLDER` names no folder that has node-llama-cpp."] : []),
  ...(python === undefined ? ["Q8_0 was left out: `GGUF_PYTHON` names no Python that has gguf."] : [])
])
