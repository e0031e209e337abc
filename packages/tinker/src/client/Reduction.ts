/** Combines the metrics of chunks. The part of a key after its colon selects the reduction. */

import * as Option from "effect/Option"
import * as Record from "effect/Record"

/** The metrics of a chunk; `count` is its number of outputs, used to weight means. */
export interface ChunkMetrics {
  readonly count: number
  readonly metrics: Readonly<Record<string, number>>
}

interface Weighted {
  readonly value: number
  readonly count: number
}

type Reduce = (values: ReadonlyArray<Weighted>) => number | undefined

const mean: Reduce = (values) => {
  const count = values.reduce((total, one) => total + one.count, 0)
  return count === 0 ? undefined : values.reduce((total, one) => total + one.value * one.count, 0) / count
}

const minimum: Reduce = (values) => values.reduce((least, { value }) => Math.min(least, value), Infinity)

const maximum: Reduce = (values) => values.reduce((most, { value }) => Math.max(most, value), -Infinity)

const slack: Reduce = (values) => {
  const [average, most] = [mean(values), maximum(values)]
  return average === undefined || most === undefined ? undefined : most - average
}

const reductions = new Map<string, Reduce>([
  ["sum", (values) => values.reduce((total, { value }) => total + value, 0)],
  ["min", minimum],
  ["max", maximum],
  ["mean", mean],
  ["slack", slack]
])

const unique = (key: string, values: ReadonlyArray<Weighted>) =>
  values.map(({ value }, index) => [index === 0 ? key : `${key}_${index}`, value] as const)

const entries = (key: string, values: ReadonlyArray<Weighted>): ReadonlyArray<readonly [string, number]> => {
  const [, suffix = "", ...rest] = key.split(":")
  if (rest.length > 0) return []
  if (suffix === "unique") return unique(key, values)
  const value = reductions.get(suffix)?.(values)
  return value === undefined ? [] : [[key, value]]
}

/** Combines the keys that all chunks have. Keys with an unknown reduction are dropped. */
export const combine = (chunks: ReadonlyArray<ChunkMetrics>): Record<string, number> => {
  const [first] = chunks
  if (first === undefined) return {}
  return Object.fromEntries(
    Object.keys(first.metrics).flatMap((key) => {
      const values = chunks.flatMap(({ count, metrics }) => {
        const value = Option.getOrUndefined(Record.get(metrics, key))
        return value === undefined ? [] : [{ value, count }]
      })
      return values.length === chunks.length ? entries(key, values) : []
    })
  )
}
