/** Initializes a pretraining run from another preset with a different tokenizer. */
import * as Memory from "@effect-rl/engine/numerics/Memory"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { Trainer } from "./Trainer.ts"

/** Token ids by text, including special tokens. */
interface Vocabulary {
  readonly added_tokens: ReadonlyArray<{ readonly id: number; readonly content: string }>
  readonly model: { readonly vocab: Readonly<Record<string, number>> }
}

const idsOf = ({ added_tokens, model }: Vocabulary): ReadonlyMap<string, number> =>
  new Map([
    ...Object.entries(model.vocab),
    ...added_tokens.map(({ content, id }) => [content, id] as const)
  ])

interface Header {
  readonly [name: string]: { readonly data_offsets: readonly [start: number, end: number] }
}

/** Reads a file's tensors in bf16. */
const readerOf = (file: string) => {
  const bytes = readFileSync(file)
  const begin = 8 + Number(bytes.readBigUInt64LE())
  const header: Header = JSON.parse(bytes.toString("utf8", 8, begin))
  return (name: string): Float32Array => {
    const [start, end] = header[name]?.data_offsets ?? [0, 0]
    const widened = Uint32Array.from(
      { length: (end - start) / 2 },
      (_, i) => bytes.readUInt16LE(begin + start + 2 * i) << 16
    )
    return new Float32Array(widened.buffer)
  }
}

/** Copies all tensors. From the embedding, copies the rows of tokens that both tokenizers have. */
export const take = ({ block, compute, layout }: Trainer, preset: string, tokenizer: Vocabulary): void => {
  const folder = fileURLToPath(new URL(`../../presets/${preset}`, import.meta.url))
  const known = idsOf(JSON.parse(readFileSync(`${folder}/tokenizer.json`, "utf8")))
  const read = readerOf(`${folder}/model.safetensors`)
  const width = compute.config.hiddenSize
  for (const { offset, size, slot } of layout.tensors) {
    const values = Memory.floats(compute.memory, block + offset * 4, size)
    const taken = read(slot.name)
    if (!slot.name.includes("embed_tokens")) values.set(taken)
    else {
      for (const [text, id] of idsOf(tokenizer)) {
        const from = known.get(text)
        if (from !== undefined) values.set(taken.subarray(from * width, (from + 1) * width), id * width)
      }
    }
  }
}
