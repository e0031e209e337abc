/**
 * The rows of one forward pass. A row is a token at a position of a sequence; a sequence is identified by the places of its keys and
 * values. No padding is needed: whole prompts and single tokens share a batch, sequences share the rows of a common prefix, and the result
 * of a row does not depend on unrelated rows in the batch.
 */
import * as Memory from "../numerics/Memory.ts"
import type { PackedAdapter } from "./Adapter.ts"
import type { Compute } from "./Compute.ts"
import * as ModelConfig from "./ModelConfig.ts"
import type { Extent, PrefixTree, Span } from "./PrefixTree.ts"

/** Consecutive rows that use the same adapter, or no adapter. */
export interface Group {
  readonly start: number
  readonly rows: number
  readonly adapter: PackedAdapter | undefined
}

/** The groups of the rows from `start` to `end`, with row numbers relative to `start`. */
export const groupsBetween = (groups: ReadonlyArray<Group>, start: number, end: number): ReadonlyArray<Group> =>
  groups.flatMap((group) => {
    const from = Math.max(group.start, start)
    const to = Math.min(group.start + group.rows, end)
    return from < to ? [{ start: from - start, rows: to - from, adapter: group.adapter }] : []
  })

/** The layout of a sequence's keys and values, in bytes from its base address: for each layer, all keys and then all values. */
export interface CacheLayout {
  readonly layerStride: number
  readonly valueOffset: number
  /** Size of the whole cache in bytes. */
  readonly bytes: number
}

/** The layout of a cache with `positions` positions. */
export const cacheLayout = (config: ModelConfig.ModelConfig, positions: number): CacheLayout => {
  const valueOffset = positions * ModelConfig.keySize(config) * 4
  return { valueOffset, layerStride: 2 * valueOffset, bytes: 2 * valueOffset * config.layers }
}

/**
 * Consecutive rows at consecutive positions. A row sees the earlier rows of its segment and all rows of the segment's ancestors. A cache
 * page is a segment without rows.
 */
export interface Segment {
  /** The segment's first position in the cache. */
  readonly place: number
  /** Positions of the segment that are already in the cache, before these rows. */
  readonly before: number
  readonly rows: number
  /** Index of the segment that this segment continues, or -1. */
  readonly parent: number
}

export interface Batch {
  readonly rows: number
  readonly ids: Memory.Address
  readonly positions: Memory.Address
  /** The segments in row order, four i32 each. */
  readonly segments: Memory.Address
  readonly segmentCount: number
  /** Address of the cache. */
  readonly base: Memory.Address
  readonly cache: CacheLayout
  readonly groups: ReadonlyArray<Group>
  /** The rows whose results are read. For all other rows, the last layer computes only keys and values. */
  readonly read: Span
  /** Length of the longest sequence, up to its last row in this batch. */
  readonly longest: number
  /** The largest number of segments in one sequence. */
  readonly deepest: number
}

export interface Rows {
  readonly ids: ArrayLike<number>
  readonly positions: ArrayLike<number>
  /** The segments in row order; they cover every row. */
  readonly segments: ReadonlyArray<Segment>
  readonly base: Memory.Address
  readonly cache: CacheLayout
  /** The groups in row order; they cover every row. */
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

/** Copies the description of the rows into the arena. */
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

/** A cache of `positions` positions that all layers share: each layer overwrites it. */
const sharedLayout = (config: ModelConfig.ModelConfig, positions: number): CacheLayout => {
  const { valueOffset } = cacheLayout(config, positions)
  return { valueOffset, layerStride: 0, bytes: 2 * valueOffset }
}

/** Whole sequences with a cache in the arena; a row's place in the cache is its row number. */
export interface TreeBatch extends Batch {
  readonly through: Extent
  readonly reached: Extent
}

/**
 * Creates a batch from a prefix tree. Layers share one cache if a layer's keys and values are not read after the layer's own computation.
 */
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
