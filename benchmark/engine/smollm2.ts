/**
 * Sampling from SmolLM2 on the engine and on llama.cpp, from the same packed weights, in turn and each in a process of its own.
 * `LLAMA_FOLDER` names a folder whose `node_modules` has node-llama-cpp; without it that part is left out. `npm run smollm2` fetches
 * the weights.
 */
import { Schema } from "effect"
import { join } from "node:path"
import * as Process from "../Process.ts"
import * as Quiet from "../Quiet.ts"
import * as Report from "../Report.ts"
import * as Prompts from "./smollm2/Prompts.ts"

const rounds = 3
const llama = process.env["LLAMA_FOLDER"]

const here = (file: string) => join(import.meta.dirname, "smollm2", file)

const contestants = new Map([["effect-rl", () => Process.node(here("ours.ts"))]])
if (llama !== undefined) contestants.set("llama.cpp", () => Process.node(here("llama.ts"), llama))

const speeds = Array.from({ length: rounds }, () => Quiet.round(contestants, Schema.Finite))

const of = (name: string) => Report.median(speeds.map((round) => round.get(name) ?? NaN))
const ratio = (name: string) =>
  Report.median(speeds.map((round) => (round.get("effect-rl") ?? NaN) / (round.get(name) ?? NaN)))

Report.publish("smollm2-sampling", "Sampling from SmolLM2", [
  `SmolLM2-135M-Instruct in Q4_1, ${Prompts.count} prompts of ${Prompts.tokens.length} tokens at the same time, ${Prompts.newTokens} new
tokens each at temperature 1. Median of ${rounds} rounds in turn, ratios within a round. ${Quiet.disturbance()}`,
  Report.table(
    ["", "sampled tokens/s", "effect-rl to it"],
    [...contestants.keys()].map((name) => [name, of(name).toFixed(0), `${ratio(name).toFixed(2)}×`])
  ),
  ...(llama === undefined ? ["llama.cpp was left out: `LLAMA_FOLDER` names no folder that has node-llama-cpp."] : [])
])
