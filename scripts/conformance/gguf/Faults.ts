/** Typical exporter mistakes, applied to an adapter in PEFT's format before it is exported. */
import * as Safetensors from "@effect-rl/engine/numerics/Safetensors"
import { Effect, FileSystem, Path } from "effect"

export interface Factor {
  readonly shape: readonly [rows: number, columns: number]
  values: Float32Array
}

export interface Damaged {
  alpha: number
  readonly rank: number
  /** The factors by their names in PEFT files. */
  readonly factors: ReadonlyMap<string, Factor>
}

export interface Fault {
  readonly name: string
  readonly damage: (adapter: Damaged) => void
}

const eachOf = ({ factors }: Damaged, pattern: RegExp, change: (factor: Factor) => void) => {
  for (const [name, factor] of factors) if (pattern.test(name)) change(factor)
}

const zero = (factor: Factor) => {
  factor.values = new Float32Array(factor.values.length)
}

/** Exchanges the values of each matrix that matches with those of the one that `other` names. */
const exchange = ({ factors }: Damaged, pattern: RegExp, other: (name: string) => string) => {
  for (const [name, factor] of factors) {
    const second = pattern.test(name) ? factors.get(other(name)) : undefined
    if (second === undefined) continue
    const { values } = factor
    factor.values = second.values
    second.values = values
  }
}

/** Moves each row to the index that `to` returns. */
const moveRows = (factor: Factor, to: (row: number) => number) => {
  const [rows, width] = factor.shape
  const out = new Float32Array(factor.values.length)
  for (let row = 0; row < rows; row++) out.set(factor.values.subarray(row * width, (row + 1) * width), to(row) * width)
  factor.values = out
}

/** Replaces the values by those of the transposed matrix; the shape stays. */
const transpose = (factor: Factor) => {
  const [rows, columns] = factor.shape
  const { values } = factor
  factor.values = values.map((_, at) => values[(at % columns) * rows + Math.floor(at / columns)] ?? 0)
}

const scaled = (factor: Factor, by: number) => {
  factor.values = factor.values.map((value) => value * by)
}

/** The fault that leaves the base model. */
export const none = "no adapter"

export const all: ReadonlyArray<Fault> = [
  { name: none, damage: (adapter) => eachOf(adapter, /lora_B/, zero) },
  {
    name: "alpha twice as large",
    damage: (adapter) => {
      adapter.alpha *= 2
    }
  },
  {
    name: "alpha/rank left out",
    damage: (adapter) => {
      adapter.alpha = adapter.rank
    }
  },
  { name: "the sign of B", damage: (adapter) => eachOf(adapter, /lora_B/, (factor) => scaled(factor, -1)) },
  { name: "no adapter of the head", damage: (adapter) => eachOf(adapter, /lm_head.*lora_B/, zero) },
  { name: "no adapter of layer 1", damage: (adapter) => eachOf(adapter, /layers\.1\..*lora_B/, zero) },
  { name: "no adapter of any attention", damage: (adapter) => eachOf(adapter, /self_attn.*lora_B/, zero) },
  {
    name: "layers 0 and 1 exchanged",
    damage: (adapter) => exchange(adapter, /layers\.0\./, (name) => name.replace("layers.0.", "layers.1."))
  },
  {
    name: "gate and up exchanged",
    damage: (adapter) => exchange(adapter, /gate_proj/, (name) => name.replace("gate_proj", "up_proj"))
  },
  { name: "A transposed", damage: (adapter) => eachOf(adapter, /lora_A/, transpose) },
  { name: "B transposed", damage: (adapter) => eachOf(adapter, /lora_B/, transpose) },
  {
    name: "rows of queries and keys in another order",
    damage: (adapter) =>
      eachOf(adapter, /[qk]_proj.*lora_B/, (factor) => {
        const [rows] = factor.shape
        moveRows(factor, (row) => row % 2 === 0 ? row / 2 : rows / 2 + (row - 1) / 2)
      })
  }
]

/** Writes a damaged copy of the adapter to another folder. */
export const write = Effect.fnUntraced(function*(adapter: string, target: string, damage: Fault["damage"]) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const config: { readonly r: number; readonly lora_alpha: number } = JSON.parse(
    yield* fs.readFileString(path.join(adapter, "adapter_config.json"))
  )
  const reader = yield* Safetensors.open(path.join(adapter, "adapter_model.safetensors"))
  const factors = new Map<string, Factor>()
  for (const [name, tensor] of reader.tensors) {
    const [rows = 1, columns = 1] = tensor.shape
    const found = yield* reader.find(name, tensor.shape)
    const bytes = new Uint8Array(found.bytes)
    yield* reader.read(found, 0, bytes)
    factors.set(name, { shape: [rows, columns], values: new Float32Array(bytes.buffer) })
  }
  const damaged: Damaged = { alpha: config.lora_alpha, rank: config.r, factors }
  damage(damaged)
  yield* fs.makeDirectory(target)
  const fields = JSON.stringify({ ...config, lora_alpha: damaged.alpha })
  yield* fs.writeFileString(path.join(target, "adapter_config.json"), fields)
  const tensors = Array.from(factors, ([name, { shape, values }]) => ({
    name,
    dtype: "F32" as const,
    shape,
    data: new Uint8Array(values.buffer)
  }))
  const file = Safetensors.encode(tensors, { format: "pt" })
  yield* fs.writeFile(path.join(target, "adapter_model.safetensors"), file)
}, Effect.scoped)
