/**
 * Writes the training data of preset `tiny-tools` into a folder for `train-tools.py`, with the model's configuration and tokenizer: `npm
 * run pack-tools -w packages/engine -- folder`.
 */
import type { Tokenizer } from "@effect-rl/core/renderers"
import { HuggingFaceTokenizer } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs"
import { contextLength } from "./corpus/Documents.ts"
import { phrases } from "./corpus/Phrases.ts"
import * as Random from "./corpus/Random.ts"
import * as TokenizerTraining from "./corpus/TokenizerTraining.ts"
import * as ToolDialogs from "./corpus/tools/ToolDialogs.ts"
import * as ToolHabits from "./corpus/tools/ToolHabits.ts"
import * as ToolTask from "./corpus/tools/ToolTask.ts"
import * as Words from "./corpus/tools/Words.ts"
import { huggingFaceConfig } from "./pretrain/Presets.ts"

const [folder] = process.argv.slice(2)
if (folder === undefined) {
  console.error("pack-tools: expected a folder to write to")
  process.exit(1)
}
const config = {
  family: "qwen3",
  vocabularySize: 1024,
  hiddenSize: 128,
  feedForwardSize: 384,
  layers: 6,
  heads: 4,
  keyHeads: 2,
  headSize: 32,
  biases: [],
  normEpsilon: 1e-6,
  ropeTheta: 10_000,
  contextLength,
  tiedEmbeddings: true
} as const

const conversation = (random: Random.Random, lexicon: Words.Lexicon, skill: ToolHabits.Skill, tasks: number) =>
  ToolDialogs.conversation(random, lexicon, ToolTask.offer(random, lexicon), skill, tasks)

/** Draws a conversation's number of tasks: mostly few, sometimes enough to fill the context. */
const tasksOf = (random: Random.Random): number => {
  const draw = random.uniform()
  return draw < 0.75 ? 1 : draw < 0.97 ? 2 + random.below(2) : 4 + random.below(8)
}

const texts = () => {
  const random = Random.make(1)
  const spoken = Array.from({ length: 2500 }, () => conversation(random, Words.trained, ToolHabits.mixed, 1))
  return [
    ...spoken.map((pieces) => [pieces.map(({ text }) => text).join("").replaceAll(/<\|\w+\|>/g, ""), 1] as const),
    ...Words.all.flatMap((word) => [[word, 12], [` ${word}`, 12], [`_${word}`, 12]] as const),
    ...phrases.map((text) => [text, 60] as const)
  ]
}

/** The highest bit marks a token that the assistant says. */
const learnedBit = 0x8000

const encoded = (
  encode: (text: string) => ReadonlyArray<number>,
  pieces: ReadonlyArray<ToolDialogs.Piece>
): Uint16Array => {
  const tokens = pieces.flatMap(({ learned, text }) =>
    encode(text).map((token) => learned ? token | learnedBit : token)
  )
  return Uint16Array.from(tokens.slice(0, contextLength + 1))
}

/** Encodes like the tokenizer, but each distinct word only once. */
const encoder = ({ encode }: Tokenizer.Tokenizer) => {
  const known = new Map<string, ReadonlyArray<number>>()
  const words = TokenizerTraining.splitter()
  return (text: string): ReadonlyArray<number> =>
    text.split(/(<\|\w+\|>)/).flatMap((part) => part.startsWith("<|") ? [part] : part.match(words) ?? []).flatMap(
      (word) => {
        const found = known.get(word) ?? Array.from(encode(word))
        if (word.length < 24) known.set(word, found)
        return found
      }
    )
}

/** Writes `count` documents as concatenated tokens, and a file with their lengths. */
const write = (name: string, count: number, document: (index: number) => Uint16Array) => {
  const lengths: Array<number> = []
  const file = openSync(`${folder}/${name}.bin`, "w")
  for (let index = 0; index < count; index++) {
    const tokens = document(index)
    lengths.push(tokens.length)
    writeSync(file, tokens)
    if (index % 10_000 === 0) console.log(`${name}: ${index} of ${count}`)
  }
  closeSync(file)
  writeFileSync(`${folder}/${name}.lengths.bin`, Uint16Array.from(lengths))
  console.log(`${name}: ${lengths.reduce((a, b) => a + b, 0)} tokens`)
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`
mkdirSync(folder, { recursive: true })
const tokenizerJson = TokenizerTraining.train(texts(), config.vocabularySize)
const tokenizerConfig = TokenizerTraining.config(contextLength)
const vocabularySize = tokenizerJson.added_tokens.length + Object.keys(tokenizerJson.model.vocab).length
writeFileSync(`${folder}/tokenizer.json`, `${JSON.stringify(tokenizerJson)}\n`)
writeFileSync(`${folder}/tokenizer_config.json`, json(tokenizerConfig))
writeFileSync(`${folder}/config.json`, json(huggingFaceConfig({ ...config, vocabularySize })))
const tokenizer = await Effect.runPromise(HuggingFaceTokenizer.fromJson("tiny-tools", tokenizerJson, tokenizerConfig))
const encode = encoder(tokenizer)

const random = Random.make(2)
const stream = (lexicon: Words.Lexicon, skill: ToolHabits.Skill, tasks: () => number) => () =>
  encoded(encode, conversation(random, lexicon, skill, tasks()))
write("heldout", 2_048, stream(Words.heldOut, ToolHabits.reliable, () => 1))
write("reliable", 60_000, stream(Words.trained, ToolHabits.reliable, () => tasksOf(random)))
write("mixed", 20_000, stream(Words.trained, ToolHabits.mixed, () => tasksOf(random)))
