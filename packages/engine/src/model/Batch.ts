/**
 * The rows of one forward pass. A row is a token at a position of a sequence, and a sequence is known by the places of its
 * keys and values alone: there is no padding, prompts and single tokens go together, sequences share the rows of a common
 * prefix, and a row's result does not depend on the rows beside it.
 */
import * as Memory from "../numerics/Memory.ts"
import type { PackedAdapter } from "./Adapter.ts"
import type { Compute } from "./Compute.ts"
import * as ModelConfig from "./ModelConfig.ts"
import type { Extent, PrefixTree, Span } from "./PrefixTree.ts"

/** Consecutive rows that share an adapter, or have none. */
export interface Group {
  readonly start: number
  readonly rows: number
  readonly adapter: PackedAdapter | undefined
}

/** The groups of the rows from `start` to `end`, counted from there. */
export const groupsBetween = (groups: ReadonlyArray<Group>, start: number, end: number): ReadonlyArray<Group> =>
  groups.flatMap((group) => {
    const from = Math.max(group.start, start)
    const to = Math.min(group.start + group.rows, end)
    return from < to ? [{ start: from - start, rows: to - from, adapter: group.adapter }] : []
  })

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

/**
 * Consecutive rows at consecutive positions. Each sees the rows before it in the segment, all rows of the segment that this
 * one continues, and so on up to the root. A page of a cache is a segment without rows.
 */
export interface Segment {
  /** The segment's first position in the cache. */
  readonly place: number
  /** Positions of the segment that lie in the cache already, in front of these rows. */
  readonly before: number
  readonly rows: number
  /** The segment that this one continues, or -1. */
  readonly parent: number
}

export interface Batch {
  readonly rows: number
  readonly ids: Memory.Address
  readonly positions: Memory.Address
  /** Four i32 each, in row order. */
  readonly segments: Memory.Address
  readonly segmentCount: number
  /** Address of the cache. */
  readonly base: Memory.Address
  readonly cache: CacheLayout
  readonly groups: ReadonlyArray<Group>
  /** The rows whose results are read: of the other rows the last layer computes only keys and values. */
  readonly read: Span
  /** Longest sequence, counted up to its last row here. */
  readonly longest: number
  /** Most segments of a sequence. */
  readonly deepest: number
}

export interface Rows {
  readonly ids: ArrayLike<number>
  readonly positions: ArrayLike<number>
  /** In row order, covering every row. */
  readonly segments: ReadonlyArray<Segment>
  readonly base: Memory.Address
  readonly cache: CacheLayout
  /** In row order, covering every row. */
  readonly groups: ReadonlyArray<Group>
}

/** The number of segments on the longest path to a root. */
const depthOf = (segments: ReadonlyArray<Segment>): number => {
  const depths = new Int32Array(segments.length)
  const depthAt = (index: number): number => {
    const segment = segments[index]
    if (segment === undefined) return 0
    const known = depths[index] ?? 0
    const depth = known > 0 ? known : 1 + depthAt(segment.parent)
    depths[index] = depth
    return depth
  }
  return segments.reduce((deepest, _, index) => Math.max(deepest, depthAt(index)), 0)
}

const nothing: Extent = { rows: 0, segments: 0 }

/** All rows of a batch. */
export const whole = ({ rows, segmentCount }: Pick<Batch, "rows" | "segmentCount">): Span => ({
  start: nothing,
  end: { rows, segments: segmentCount }
})

/** Copies rows into the arena. */
export const make = ({ arena, memory }: Compute, { base, cache, groups, ...rows }: Rows): Batch => {
  const count = rows.ids.length
  const segmentCount = rows.segments.length
  const ids = arena.allocate(count)
  const positions = arena.allocate(count)
  const segments = arena.allocate(4 * segmentCount)
  Memory.integers(memory, ids, count).set(rows.ids)
  Memory.integers(memory, positions, count).set(rows.positions)
  const table = Memory.integers(memory, segments, 4 * segmentCount)
  rows.segments.forEach(({ before, parent, place, rows }, index) => table.set([place, before, rows, parent], 4 * index))
  const deepest = depthOf(rows.segments)
  let longest = 0
  for (let r = 0; r < count; r++) longest = Math.max(longest, (rows.positions[r] ?? 0) + 1)
  const read = whole({ rows: count, segmentCount })
  return { rows: count, ids, positions, segments, segmentCount, base, cache, groups, read, longest, deepest }
}

/** A cache of `positions` positions that each layer overwrites with its own keys and values. */
const sharedLayout = (config: ModelConfig.ModelConfig, positions: number): CacheLayout => {
  const { valueOffset } = cacheLayout(config, positions)
  return { valueOffset, layerStride: 0, bytes: 2 * valueOffset }
}

/** Whole sequences with a cache of their own in the arena, in which each row's place is its number. */
export interface TreeBatch extends Batch {
  readonly through: Extent
  readonly reached: Extent
}

/** Layers share a cache where a layer's keys and values are not read after its own computation. */
export const ofTree = (
  compute: Compute,
  { ids, positions, reached, read, segments, through }: PrefixTree,
  adapter: PackedAdapter | undefined,
  caches: "per layer" | "shared"
): TreeBatch => {
  const rows = ids.length
  const cache = caches === "shared" ? sharedLayout(compute.config, rows) : cacheLayout(compute.config, rows)
  const base = compute.arena.allocate(cache.bytes / 4)
  const groups = [{ start: 0, rows, adapter }]
  return { ...make(compute, { ids, positions, segments, base, cache, groups }), through, reached, read }
}
