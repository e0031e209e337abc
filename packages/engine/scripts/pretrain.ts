/** Trains the weights of a preset from nothing: `npm run pretrain -w packages/engine -- tiny-128 [folder]`. */
import * as BaseParameters from "@effect-rl/engine/model/BaseParameters"
import * as Memory from "@effect-rl/engine/numerics/Memory"
import * as Safetensors from "@effect-rl/engine/numerics/Safetensors"
import * as TensorType from "@effect-rl/engine/numerics/TensorType"
import { HuggingFaceTokenizer } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import { mkdirSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as Addition from "./corpus/Addition.ts"
import * as Documents from "./corpus/Documents.ts"
import { phrases } from "./corpus/Phrases.ts"
import * as Random from "./corpus/Random.ts"
import * as TokenizerTraining from "./corpus/TokenizerTraining.ts"
import * as Evaluation from "./pretrain/Evaluation.ts"
import { huggingFaceConfig, presets } from "./pretrain/Presets.ts"
import * as Trainer from "./pretrain/Trainer.ts"

const [name = "", folder = fileURLToPath(new URL(`../presets/${name}`, import.meta.url))] = process.argv.slice(2)
const preset = presets[name]
if (preset === undefined) {
  console.error(`there is no preset "${name}"; there are: ${Object.keys(presets).join(", ")}`)
  process.exit(1)
}
const { config, documents, learningRate, steps } = preset

const tokenizerTexts = (): ReadonlyArray<readonly [string, number]> => {
  const random = Random.make(1)
  const examples = Array.from({ length: 2000 }, () => {
    const [a, b] = Addition.operands(random, 100)
    return `user\n${Addition.boxedQuestion(a, b)}\nassistant\n${Addition.boxedAnswer(random, Addition.mixed, a, b)}`
  })
  return [...examples.map((text) => [text, 1] as const), ...phrases.map((text) => [text, 200] as const)]
}

const tokenizerJson = TokenizerTraining.train(tokenizerTexts(), config.vocabularySize)
const tokenizerConfig = TokenizerTraining.config(config.contextLength)
const tokenizer = await Effect.runPromise(HuggingFaceTokenizer.fromJson(name, tokenizerJson, tokenizerConfig))

/** Rises over 40 steps, then falls along a cosine to a twentieth. */
const rateAt = (step: number): number =>
  learningRate * Math.min(1, step / 40) * (0.05 + 0.95 * 0.5 * (1 + Math.cos(Math.PI * step / steps)))

/** How long answers given at once are always right. */
const reliableShare = 0.6

const seconds = (since: number): string => `${((performance.now() - since) / 1000).toFixed(0)} s`

const start = performance.now()
const trainer = Trainer.make(config, 2, Random.make(1))
const random = Random.make(2)
for (let step = 1; step <= steps; step++) {
  const skill = step < steps * reliableShare ? Addition.reliable : Addition.mixed
  const pen: Documents.Pen = { encode: tokenizer.encode, random, skill }
  const loss = await trainer.step(Documents.batch(pen, documents), rateAt(step))
  if (step % 50 === 0) console.log(`step ${step} of ${steps}, loss ${loss.toFixed(4)}, ${seconds(start)}`)
  if (step % 250 === 0) console.log(JSON.stringify(Evaluation.run(trainer.compute, tokenizer, 1)))
}
await trainer.close()

/** The weights as they are shipped: rounded to bf16. */
const tensors = trainer.layout.tensors.map(({ offset, size, slot }): Safetensors.Tensor => {
  const { arena, kernels, memory } = trainer.compute
  const mark = arena.mark()
  const narrow = arena.allocate(Math.ceil(size / 2))
  const place = trainer.block + offset * 4
  kernels.narrowBf16(narrow, place, size)
  kernels.dequantize(place, narrow, TensorType.idOf("BF16"), size)
  arena.reset(mark)
  return { name: slot.name, dtype: "BF16", shape: slot.shape, data: Memory.bytes(memory, narrow, size * 2).slice() }
})
BaseParameters.pack(trainer.compute.kernels, trainer.layout, trainer.block)
console.log(JSON.stringify(Evaluation.run(trainer.compute, tokenizer, 8)))

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`
mkdirSync(folder, { recursive: true })
writeFileSync(`${folder}/config.json`, json(huggingFaceConfig(config)))
writeFileSync(`${folder}/model.safetensors`, Safetensors.encode(tensors, { format: "pt" }))
writeFileSync(`${folder}/tokenizer.json`, `${JSON.stringify(tokenizerJson)}\n`)
writeFileSync(`${folder}/tokenizer_config.json`, json(tokenizerConfig))
console.log(`${folder} after ${seconds(start)}`)
