/** Checks that two compilations of the kernels compute the same bits. */
import * as Kernels from "../numerics/Kernels.ts"
import * as Memory from "../numerics/Memory.ts"
import * as TensorType from "../numerics/TensorType.ts"
import * as Adam from "./Adam.ts"
import * as Adapter from "./Adapter.ts"
import type { Compute } from "./Compute.ts"
import type { ModelConfig } from "./ModelConfig.ts"
import * as Pass from "./Pass.ts"
import * as Weights from "./Weights.ts"

/** A small model whose sizes leave a remainder in every tile of the kernels. */
const config: ModelConfig = {
  family: "qwen3",
  vocabularySize: 61,
  hiddenSize: 40,
  feedForwardSize: 72,
  layers: 2,
  heads: 2,
  keyHeads: 1,
  headSize: 40,
  biases: [],
  normEpsilon: 1e-6,
  ropeTheta: 10_000,
  contextLength: 32,
  tiedEmbeddings: true
}

/** Pseudo-random numbers in [0, 1) from a linear congruential generator. */
const noise = () => {
  let state = 1
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const fill = (memory: Memory.Memory, address: Memory.Address, count: number, next: () => number) => {
  const view = Memory.floats(memory, address, count)
  for (let i = 0; i < count; i++) view[i] = next() - 0.5
}

/** Runs one forward and backward pass and one optimizer step on a small model with random weights. */
const train = (compute: Compute, reserver: Memory.Reserver, next: () => number) => {
  const { kernels, memory } = compute
  const layout = Adapter.layout(config, { rank: 12 })
  const block = () => reserver.allocate(layout.parameterFloats)
  const blocks = { parameters: block(), gradients: block(), first: block(), second: block() }
  const packed = { layout, forward: block(), backward: block() }
  fill(memory, blocks.parameters, layout.parameterFloats, next)
  for (const zeros of [blocks.gradients, blocks.first, blocks.second]) {
    Memory.floats(memory, zeros, layout.parameterFloats).fill(0)
  }
  Adapter.pack(kernels, blocks.parameters, packed)
  const random = (length: number) => Int32Array.from({ length }, () => Math.floor(next() * config.vocabularySize))
  const trunk = random(17)
  const examples = [trunk, random(1), random(9), Int32Array.of(...trunk.subarray(0, 6), ...random(5))].map((
    tokens
  ): Pass.Example => ({ tokens, targets: random(tokens.length), candidates: 1 }))
  const gradients = { adapter: { packed, block: blocks.gradients } }
  const { logprobs } = Pass.forwardBackward(compute, examples, gradients, (own) => ({
    loss: 0,
    gradient: own.map((logprob) => logprob / 4)
  }))
  Adam.step(kernels, { ...blocks, floats: layout.parameterFloats }, { ...Adam.defaults, learningRate: 0.1 }, 1)
  return logprobs
}

/** Multiplies with a matrix of each stored type. Bytes below 64 decode to finite numbers in every type. */
const multiplyStored = ({ kernels, memory }: Compute, reserver: Memory.Reserver, next: () => number) => {
  const [rows, outputs, inputs] = [7, 8, 256]
  for (const name of TensorType.names) {
    const [type, size, rowBytes] = [
      TensorType.idOf(name),
      TensorType.bytesOf(name, outputs * inputs),
      TensorType.bytesOf(name, inputs)
    ]
    const stored = reserver.reserve(size)
    const [x, y, back] = [rows * inputs, rows * outputs, rows * inputs].map((count) => reserver.allocate(count))
    const scratch = reserver.allocate(16_384)
    const bytes = Memory.bytes(memory, stored.start, size)
    for (let i = 0; i < size; i++) bytes[i] = Math.floor(next() * 64)
    if (x === undefined || y === undefined || back === undefined) continue
    fill(memory, x, rows * inputs, next)
    kernels.gemmStored(y, x, stored.start, type, rowBytes, rows, outputs, inputs, 0, scratch)
    kernels.gemmStoredTransposed(back, y, stored.start, type, rowBytes, rows, outputs, inputs, 0, scratch)
  }
}

/** Samples tokens from random logits. */
const draw = ({ kernels, memory }: Compute, reserver: Memory.Reserver, next: () => number) => {
  const [logits, scratch] = [reserver.allocate(64), reserver.allocate(128)]
  fill(memory, logits, 64, next)
  return Array.from({ length: 20 }, (_, index) => [
    kernels.sample(logits, 61, 64, 0.5, 1 + index, next(), scratch),
    kernels.sampleFiltered(logits, 61, 64, 0.5, 1 + index, 20, 0.9, next(), scratch)
  ]).flat()
}

/** All results, together with the whole memory in which they were computed. */
const outcome = (module: Kernels.Module) => {
  const memory = Memory.make()
  const kernels = Kernels.instantiate(module, memory)
  const reserver = Memory.reserver(memory)
  const next = noise()
  const weights = Weights.allocate(memory, reserver, config, () => "panels")
  fill(memory, 1024, Weights.bytes(config, () => "panels") / 4, next)
  const arena = Memory.arena(reserver.reserve(1 << 20))
  const compute: Compute = { kernels, memory, config, weights, arena }
  const logprobs = train(compute, reserver, next)
  multiplyStored(compute, reserver, next)
  const drawn = draw(compute, reserver, next)
  const used = Memory.capacity - reserver.free()
  return Buffer.concat([
    ...logprobs.map(({ buffer }) => Buffer.from(buffer)),
    Buffer.from(Int32Array.from(drawn).buffer),
    Buffer.from(Memory.bytes(memory, 1024, used))
  ])
}

/** Whether two compilations compute the same bits in training, sampling and products with every stored type. */
export const agree = (one: Kernels.Module, other: Kernels.Module): boolean => outcome(one).equals(outcome(other))
