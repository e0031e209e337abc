/**
 * The rows of one forward pass. A row is a token at a position of a sequence, and sequences are nothing but the address
 * of their keys and values: there is no padding, prompts and single tokens go together, and a row's result does not
 * depend on the rows beside it.
 */
import * as Memory from "../numerics/Memory.ts"
import type { PackedAdapter } from "./Adapter.ts"
import type { Compute } from "./Compute.ts"
import * as ModelConfig from "./ModelConfig.ts"

/** Consecutive rows that share an adapter, or have none. */
export interface Group {
  readonly start: number
  readonly rows: number
  readonly adapter: PackedAdapter | undefined
}

/** Where keys and values of a sequence lie from its base address: per layer all keys, then all values. In bytes. */
export interface CacheLayout {
  readonly layerStride: number
  readonly valueOffset: number
  /** Size of the whole cache. */
  readonly bytes: number
}

/** A cache of `positions` positions. */
export const cacheLayout = (config: ModelConfig.ModelConfig, positions: number): CacheLayout => {
  const valueOffset = positions * ModelConfig.keySize(config) * 4
  return { valueOffset, layerStride: 2 * valueOffset, bytes: 2 * valueOffset * config.layers }
}

export interface Batch {
  readonly rows: number
  readonly ids: Memory.Address
  readonly positions: Memory.Address
  readonly bases: Memory.Address
  readonly cache: CacheLayout
  readonly groups: ReadonlyArray<Group>
  /** Longest sequence, counted up to its last row here. */
  readonly longest: number
}

export interface Rows {
  readonly ids: ArrayLike<number>
  readonly positions: ArrayLike<number>
  /** Per row the address of its sequence's cache. */
  readonly bases: ArrayLike<Memory.Address>
  readonly cache: CacheLayout
  /** In row order, covering every row. */
  readonly groups: ReadonlyArray<Group>
}

/** Copies rows into the arena. */
export const make = ({ arena, memory }: Compute, rows: Rows): Batch => {
  const count = rows.ids.length
  const ids = arena.allocate(count)
  const positions = arena.allocate(count)
  const bases = arena.allocate(count)
  Memory.integers(memory, ids, count).set(rows.ids)
  Memory.integers(memory, positions, count).set(rows.positions)
  Memory.addresses(memory, bases, count).set(rows.bases)
  let longest = 0
  for (let r = 0; r < count; r++) longest = Math.max(longest, (rows.positions[r] ?? 0) + 1)
  return { rows: count, ids, positions, bases, cache: rows.cache, groups: rows.groups, longest }
}

/** A cache of `positions` positions that each layer overwrites with its own keys and values. */
const sharedLayout = (config: ModelConfig.ModelConfig, positions: number): CacheLayout => {
  const { valueOffset } = cacheLayout(config, positions)
  return { valueOffset, layerStride: 0, bytes: 2 * valueOffset }
}

/** Whole sequences one after the other, with a cache of their own in the arena. */
export interface SequenceBatch extends Batch {
  readonly sequences: ReadonlyArray<{ readonly start: number; readonly length: number }>
  /** Address of the cache. */
  readonly base: Memory.Address
}

/** Layers share a cache where a layer's keys and values are not read after its own computation. */
export const ofSequences = (
  compute: Compute,
  tokensS: ReadonlyArray<Int32Array>,
  adapter: PackedAdapter | undefined,
  caches: "per layer" | "shared"
): SequenceBatch => {
  const count = tokensS.reduce((sum, tokensT) => sum + tokensT.length, 0)
  const cache = caches === "shared" ? sharedLayout(compute.config, count) : cacheLayout(compute.config, count)
  const base = compute.arena.allocate(cache.bytes / 4)
  const stride = ModelConfig.keySize(compute.config) * 4
  const ids = new Int32Array(count)
  const positions = new Int32Array(count)
  const bases = new Uint32Array(count)
  let start = 0
  const sequences = tokensS.map((tokensT) => {
    const sequence = { start, length: tokensT.length }
    ids.set(tokensT, start)
    for (let t = 0; t < tokensT.length; t++) positions[start + t] = t
    bases.fill(base + start * stride, start, start + tokensT.length)
    start += tokensT.length
    return sequence
  })
  const batch = make(compute, { ids, positions, bases, cache, groups: [{ start: 0, rows: count, adapter }] })
  return { ...batch, sequences, base }
}
