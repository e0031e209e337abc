/**
 * Prints how many tokens per second llama.cpp samples. The first argument names the model file, the second the folder whose `node_modules`
 * contains node-llama-cpp.
 */
import { createRequire } from "node:module"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import * as Prompts from "./Prompts.ts"

/** The part of node-llama-cpp that is used here. */
interface Module {
  readonly getLlama: (options: object) => Promise<{
    readonly loadModel: (options: object) => Promise<{
      readonly createContext: (options: object) => Promise<{ readonly getSequence: () => Sequence }>
    }>
  }>
}

interface Sequence {
  readonly evaluate: (tokens: ReadonlyArray<number>, options: object) => AsyncIterable<number>
  readonly clearHistory: () => Promise<void>
}

const [, , modelPath = "", folder = ""] = process.argv
const path = createRequire(join(folder, "package.json")).resolve("node-llama-cpp")
const { getLlama }: Module = await import(pathToFileURL(path).href)
const llama = await getLlama({ gpu: false, build: "never", logLevel: "error" })
const model = await llama.loadModel({ modelPath })
const context = await model.createContext({
  sequences: Prompts.count,
  contextSize: Prompts.tokens.length + Prompts.newTokens + 1,
  threads: availableParallelism(),
  batchSize: Prompts.count * Prompts.tokens.length
})
const sequences: ReadonlyArray<Sequence> = Array.from({ length: Prompts.count }, () => context.getSequence())

const sampled = async (sequence: Sequence, seed: number) => {
  await sequence.clearHistory()
  const prompt = [...Prompts.tokens.subarray(0, -1), 1000 + seed]
  let count = 0
  for await (const _ of sequence.evaluate(prompt, { temperature: 1, seed })) if (++count === Prompts.newTokens) break
  return count
}
const sample = () => Promise.all(sequences.map(sampled))

await sample()
const start = performance.now()
const counts = await sample()
const seconds = (performance.now() - start) / 1000
process.stdout.write(String(counts.reduce((sum, count) => sum + count, 0) / seconds))
process.exit(0)
