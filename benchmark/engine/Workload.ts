/** The workload of all contestants: the same model, weights, batch and prompts. */
import { Schema } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"

export const folder = join(import.meta.dirname, "../../packages/engine/presets/tiny-128")
export const modelName = "effect-rl/tiny-128"

export const shape = {
  hidden: 128,
  layers: 4,
  heads: 4,
  keyHeads: 2,
  headSize: 32,
  wide: 384,
  vocabulary: 512,
  epsilon: 1e-6,
  theta: 10_000
}

export const rank = 32
export const scale = 32 / rank

/** Number of sequences in a training batch. They have equal lengths, so no contestant pads. */
export const batch = 64
export const length = 48

/** Number of sequences sampled concurrently. Each has a different prompt, and none ends early. */
export const slots = 128
export const promptLength = 27
export const newTokens = 48

const token = (sequence: number, position: number) => 40 + (sequence * 7 + position * 13 + sequence * position) % 300

export const tokens = (sequence: number, count: number) =>
  Int32Array.from({ length: count }, (_, position) => token(sequence, position))

/** The loss weight at each position. */
export const weight = (sequence: number, position: number) => ((sequence * 31 + position * 17) % 11 - 5) / 10

/** Number of groups in the batch of `npm start`. The members of a group share a prompt. */
export const groups = 32
export const groupSize = 8

/** A training sequence of the batch of `npm start`, with the inputs of the loss. */
export interface Row {
  readonly tokens: ReadonlyArray<number>
  readonly targets: ReadonlyArray<number>
  readonly logprobs: ReadonlyArray<number>
  readonly advantages: ReadonlyArray<number>
}

export const Speed = Schema.Struct({
  trainTokensPerSecond: Schema.Finite,
  /** Policy-gradient steps per second on the groups; absent if they were not measured. */
  groupStepsPerSecond: Schema.optional(Schema.Finite),
  /** The loss of the first policy-gradient step. */
  groupLoss: Schema.optional(Schema.Finite),
  sampleTokensPerSecond: Schema.Finite,
  /** The loss of the first training step, which must be equal for all contestants. */
  loss: Schema.Finite
})
export type Speed = typeof Speed.Type

const linears = { query: [128, 128], key: [128, 64], value: [128, 64], output: [128, 128] }
const wides = { gate: [128, 384], up: [128, 384], down: [384, 128] }

/** The names, input sizes and output sizes of the adapted matrices in a layer. */
export const matrices: ReadonlyArray<readonly [name: string, inputs: number, outputs: number]> = Object
  .entries({ ...linears, ...wides })
  .map(([name, [inputs = 0, outputs = 0]]) => [name, inputs, outputs] as const)

/** Floating-point operations per token of a training step: forward, backward to the inputs, and the adapter's gradients. */
export const trainFlops = (() => {
  const frozen = shape.layers * matrices.reduce((sum, [, inputs, outputs]) => sum + inputs * outputs, 0)
    + shape.hidden * shape.vocabulary
  const adapter = shape.layers * matrices.reduce((sum, [, inputs, outputs]) => sum + rank * (inputs + outputs), 0)
  const attention = 4 * (length / 2) * shape.heads * shape.headSize * shape.layers
  return 4 * frozen + 8 * adapter + 4 * attention
})()

/** The bfloat16 tensors of the model file, converted to float32. */
export const readTensors = (): ReadonlyMap<string, Float32Array> => {
  const file = readFileSync(join(folder, "model.safetensors"))
  const headerBytes = Number(file.readBigUInt64LE(0))
  const header: Record<string, { readonly data_offsets?: readonly [number, number] }> = JSON.parse(
    file.toString("utf8", 8, 8 + headerBytes)
  )
  return new Map(
    Object.entries(header).flatMap(([name, { data_offsets }]) => {
      if (data_offsets === undefined) return []
      const [start, end] = data_offsets
      const bits = Uint32Array.from(
        { length: (end - start) / 2 },
        (_, index) => file.readUInt16LE(8 + headerBytes + start + 2 * index) << 16
      )
      return [[name, new Float32Array(bits.buffer)] as const]
    })
  )
}

/** Repetitions per second over at least `seconds`, after two warm-up repetitions. */
export const rate = (seconds: number, run: () => unknown): number => {
  run()
  run()
  const start = performance.now()
  let count = 0
  while (performance.now() - start < seconds * 1000) {
    run()
    count++
  }
  return count / ((performance.now() - start) / 1000)
}
