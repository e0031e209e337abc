/** Samples continuations at temperature 1 from a base model on the calling thread. */
import * as Batch from "@effect-rl/engine/model/Batch"
import type { Compute } from "@effect-rl/engine/model/Compute"
import * as Forward from "@effect-rl/engine/model/Forward"
import * as Head from "@effect-rl/engine/model/Head"
import * as ModelConfig from "@effect-rl/engine/model/ModelConfig"
import * as Memory from "@effect-rl/engine/numerics/Memory"

interface Sequence {
  readonly prompt: Int32Array
  readonly place: number
  readonly uniform: () => number
  readonly tokens: Array<number>
}

export interface Options {
  readonly stop: number
  readonly maxTokens: number
  readonly uniform: () => number
}

const draw = (compute: Compute, logits: Head.Logits, row: number, uniform: number): number => {
  const { arena, config, kernels, memory } = compute
  const mark = arena.mark()
  const padded = ModelConfig.paddedVocabulary(config)
  const [maximum = 0] = Memory.floats(memory, logits.maximumAndSum + row * 8, 1)
  const place = logits.values + row * padded * 4
  const token = kernels.sample(place, config.vocabularySize, padded, maximum, 1, uniform, arena.allocate(padded))
  arena.reset(mark)
  return token
}

/** Draws the next token of every sequence. The first call computes the whole prompt, later calls only the last token. */
const turn = (
  compute: Compute,
  sequences: ReadonlyArray<Sequence>,
  base: Memory.Address,
  cache: Batch.CacheLayout
): void => {
  const mark = compute.arena.mark()
  const ids: Array<number> = []
  const positions: Array<number> = []
  const segments: Array<Batch.Segment> = []
  const chosen: Array<number> = []
  for (const { place, prompt, tokens } of sequences) {
    const fresh = tokens.length === 0 ? Array.from(prompt) : tokens.slice(-1)
    const start = prompt.length + tokens.length - fresh.length
    ids.push(...fresh)
    positions.push(...fresh.map((_, i) => start + i))
    segments.push({ place, before: start, rows: fresh.length, parent: -1 })
    chosen.push(ids.length - 1)
  }
  const groups = [{ start: 0, rows: ids.length, adapter: undefined }]
  const batch = Batch.make(compute, { ids, positions, segments, base, cache, groups })
  const logits = Head.forwardAt(compute, groups, Forward.run(compute, batch), chosen)
  sequences.forEach(({ tokens, uniform }, row) => tokens.push(draw(compute, logits, row, uniform())))
  compute.arena.reset(mark)
}

/** One continuation per prompt. It includes the stop token if it was drawn. */
export const generate = (
  compute: Compute,
  prompts: ReadonlyArray<Int32Array>,
  { maxTokens, stop, uniform }: Options
): ReadonlyArray<ReadonlyArray<number>> => {
  const mark = compute.arena.mark()
  const positions = maxTokens + prompts.reduce((longest, prompt) => Math.max(longest, prompt.length), 0)
  const cache = Batch.cacheLayout(compute.config, positions * prompts.length)
  const base = compute.arena.allocate(cache.bytes / 4)
  const sequences = prompts.map((prompt, index): Sequence => ({
    prompt,
    place: index * positions,
    uniform,
    tokens: []
  }))
  let live: ReadonlyArray<Sequence> = sequences
  for (let t = 0; t < maxTokens && live.length > 0; t++) {
    turn(compute, live, base, cache)
    live = live.filter(({ tokens }) => tokens.at(-1) !== stop)
  }
  compute.arena.reset(mark)
  return sequences.map(({ tokens }) => tokens)
}
