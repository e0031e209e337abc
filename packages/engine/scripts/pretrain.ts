/** Trains a preset's weights from scratch: `npm run pretrain -w packages/engine -- tiny-128 [folder]`. */
import * as BaseParameters from "@effect-rl/engine/model/BaseParameters"
import * as Memory from "@effect-rl/engine/numerics/Memory"
import * as Safetensors from "@effect-rl/engine/numerics/Safetensors"
import * as TensorType from "@effect-rl/engine/numerics/TensorType"
import { HuggingFaceTokenizer } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import { mkdirSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as Random from "./corpus/Random.ts"
import * as TokenizerTraining from "./corpus/TokenizerTraining.ts"
import * as Origin from "./pretrain/Origin.ts"
import { huggingFaceConfig, presets } from "./pretrain/Presets.ts"
import * as Trainer from "./pretrain/Trainer.ts"

const [name = "", folder = fileURLToPath(new URL(`../presets/${name}`, import.meta.url))] = process.argv.slice(2)
const preset = presets[name]
if (preset === undefined) {
  console.error(`there is no preset "${name}"; choose from: ${Object.keys(presets).join(", ")}`)
  process.exit(1)
}
const { config, corpus, learningRate, steps } = preset

const tokenizerJson = TokenizerTraining.train(await corpus.texts(), config.vocabularySize)
const tokenizerConfig = TokenizerTraining.config(config.contextLength)
const tokenizer = await Effect.runPromise(HuggingFaceTokenizer.fromJson(name, tokenizerJson, tokenizerConfig))

/** The learning rate rises over 40 steps, then falls along a cosine to a twentieth. */
const rateAt = (step: number): number =>
  learningRate * Math.min(1, step / 40) * (0.05 + 0.95 * 0.5 * (1 + Math.cos(Math.PI * step / steps)))

const seconds = (since: number): string => `${((performance.now() - since) / 1000).toFixed(0)} s`

const measure = (perPair: number) => {
  if (preset.measure !== undefined) console.log(JSON.stringify(preset.measure(trainer.compute, tokenizer, perPair)))
}

const start = performance.now()
const trainer = Trainer.make(config, 2, Random.make(1))
if (preset.origin !== undefined) {
  Origin.take(trainer, preset.origin, tokenizerJson)
  BaseParameters.pack(trainer.compute.kernels, trainer.layout, trainer.block)
}
const documents = await corpus.documents(tokenizer, steps)
for (let step = 1; step <= steps; step++) {
  const loss = await trainer.step(await documents(step), rateAt(step))
  if (step % 50 === 0) console.log(`step ${step} of ${steps}, loss ${loss.toFixed(4)}, ${seconds(start)}`)
  if (step % 250 === 0) measure(1)
}
await trainer.close()

/** The number of tokens; the texts may have too few words to use all rows. */
const vocabularySize = tokenizerJson.added_tokens.length + Object.keys(tokenizerJson.model.vocab).length

/** The weights as shipped: rounded to bf16, without embedding rows that have no token. */
const tensors = trainer.layout.tensors.map(({ offset, size, slot }): Safetensors.Tensor => {
  const { arena, kernels, memory } = trainer.compute
  const mark = arena.mark()
  const narrow = arena.allocate(Math.ceil(size / 2))
  const place = trainer.block + offset * 4
  kernels.narrowBf16(narrow, place, size)
  kernels.dequantize(place, narrow, TensorType.idOf("BF16"), size)
  arena.reset(mark)
  const [rows = 0, ...columns] = slot.shape
  const shape = [slot.name.includes("embed_tokens") ? vocabularySize : rows, ...columns]
  const bytes = 2 * shape.reduce((product, length) => product * length, 1)
  return { name: slot.name, dtype: "BF16", shape, data: Memory.bytes(memory, narrow, bytes).slice() }
})
BaseParameters.pack(trainer.compute.kernels, trainer.layout, trainer.block)
measure(8)

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`
mkdirSync(folder, { recursive: true })
writeFileSync(`${folder}/config.json`, json(huggingFaceConfig({ ...config, vocabularySize })))
writeFileSync(`${folder}/model.safetensors`, Safetensors.encode(tensors, { format: "pt" }))
writeFileSync(`${folder}/tokenizer.json`, `${JSON.stringify(tokenizerJson)}\n`)
writeFileSync(`${folder}/tokenizer_config.json`, json(tokenizerConfig))
console.log(`${folder} after ${seconds(start)}`)
