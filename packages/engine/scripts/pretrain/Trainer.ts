/** Trains all of a model's weights with worker threads. The result does not depend on their number. */
import * as Adam from "@effect-rl/engine/model/Adam"
import * as BaseParameters from "@effect-rl/engine/model/BaseParameters"
import type { Compute } from "@effect-rl/engine/model/Compute"
import type { ModelConfig } from "@effect-rl/engine/model/ModelConfig"
import * as Pass from "@effect-rl/engine/model/Pass"
import * as Weights from "@effect-rl/engine/model/Weights"
import * as Kernels from "@effect-rl/engine/numerics/Kernels"
import * as Memory from "@effect-rl/engine/numerics/Memory"
import { Worker } from "node:worker_threads"
import { contextLength, type Document } from "../corpus/Documents.ts"
import type * as Random from "../corpus/Random.ts"
import type { Done, Shard, Start } from "./Protocol.ts"

const shardRows = 600

export interface Trainer {
  readonly compute: Compute
  readonly layout: BaseParameters.BaseLayout
  /** Address of the weights. */
  readonly block: Memory.Address
  /** Performs one optimizer step. Returns the mean loss per weighted token. */
  readonly step: (documents: ReadonlyArray<Document>, learningRate: number) => Promise<number>
  readonly close: () => Promise<void>
}

const initialize = (compute: Compute, layout: BaseParameters.BaseLayout, block: number, random: Random.Random) => {
  for (const { offset, size, slot } of layout.tensors) {
    const values = Memory.floats(compute.memory, block + offset * 4, size)
    const [, inputs] = slot.shape
    const intoStream = slot.name.includes("o_proj") || slot.name.includes("down_proj")
    const depth = intoStream ? Math.sqrt(2 * compute.config.layers) : 1
    const deviation = slot.name.includes("embed") ? 0.1 : 1 / Math.sqrt(inputs ?? 1) / depth
    for (let i = 0; i < size; i++) values[i] = inputs === undefined ? 1 : random.normal() * deviation
  }
}

/** Splits documents in order into shards of at most `shardRows` rows. The split depends only on the documents, as do sums over shards. */
const shardsOf = (documents: ReadonlyArray<Document>): ReadonlyArray<ReadonlyArray<Document>> => {
  const shards: Array<Array<Document>> = []
  let rows = shardRows
  for (const document of documents) {
    if (rows + document.tokens.length > shardRows) {
      shards.push([])
      rows = 0
    }
    shards.at(-1)?.push(document)
    rows += document.tokens.length
  }
  return shards
}

const weightOf = (documents: ReadonlyArray<Document>): number =>
  documents.reduce((sum, { weights }) => weights.subarray(1).reduce((inner, weight) => inner + weight, sum), 0)

/** Sends shards to free workers and waits for all results. */
const distribute = (workers: ReadonlyArray<Worker>, shards: ReadonlyArray<Shard>): Promise<ReadonlyArray<number>> =>
  new Promise((resolve, reject) => {
    const losses: Array<number> = []
    let next = 0
    let done = 0
    const give = (worker: Worker) => worker.postMessage(shards[next++])
    for (const worker of workers) {
      worker.removeAllListeners("message").on("message", ({ index, loss }: Done) => {
        losses[index] = loss
        if (++done === shards.length) resolve(losses)
        else if (next < shards.length) give(worker)
      })
      worker.removeAllListeners("error").on("error", reject)
      if (next < shards.length) give(worker)
    }
  })

const workerFile = new URL("./worker.ts", import.meta.url)

interface Blocks extends Adam.Blocks {
  /** Gradient blocks for shards, as many as were ever needed at once. */
  readonly shards: Array<Memory.Address>
}

/** Adds the gradients of all shards in order and divides the sum by `total`. */
const sumGradients = (
  { kernels, memory }: Compute,
  { floats, gradients, shards }: Blocks,
  count: number,
  total: number
) => {
  Memory.floats(memory, gradients, floats).fill(0)
  for (const shard of shards.slice(0, count)) kernels.addInto(gradients, shard, floats)
  kernels.scaleInto(gradients, 1 / total, floats)
}

const optimizer = { beta1: 0.9, beta2: 0.98, epsilon: 1e-8, weightDecay: 0.01, gradientClipNorm: 1 }

export const make = (config: ModelConfig, threads: number, random: Random.Random): Trainer => {
  const memory = Memory.make()
  const reserver = Memory.reserver(memory)
  const module = Kernels.compile()
  const kernels = Kernels.instantiate(module, memory)
  const weights = Weights.allocate(memory, reserver, config, () => "panels")
  const rows = 2 * contextLength
  const scratch = Pass.scratchBytes(config, { rows, longest: contextLength, targets: rows, paddedRank: 0 })
  const compute: Compute = { kernels, memory, config, weights, arena: Memory.arena(reserver.reserve(scratch)) }
  const workers = Array.from({ length: threads }, () => {
    const workerData: Start = { module, memory, config, weights, arena: reserver.reserve(scratch) }
    return new Worker(workerFile, { workerData })
  })
  const layout = BaseParameters.layout(Weights.slots(config, weights))
  const block = () => reserver.allocate(layout.floats)
  const blocks: Blocks = {
    parameters: block(),
    gradients: block(),
    first: block(),
    second: block(),
    floats: layout.floats,
    shards: []
  }
  initialize(compute, layout, blocks.parameters, random)
  BaseParameters.pack(kernels, layout, blocks.parameters)

  const shardAt = (documents: ReadonlyArray<Document>, index: number): Shard => {
    const place = blocks.shards[index] ??= block()
    Memory.floats(memory, place, layout.floats).fill(0)
    return { index, documents, gradients: { base: BaseParameters.gradientsAt(config, layout, place) } }
  }
  let steps = 0
  const step: Trainer["step"] = async (documents, learningRate) => {
    const shards = shardsOf(documents).map(shardAt)
    const losses = await distribute(workers, shards)
    const total = weightOf(documents)
    sumGradients(compute, blocks, shards.length, total)
    Adam.step(kernels, blocks, { ...optimizer, learningRate }, ++steps)
    BaseParameters.pack(kernels, layout, blocks.parameters)
    return losses.reduce((a, b) => a + b, 0) / total
  }
  const close = async () => {
    await Promise.all(workers.map((worker) => worker.terminate()))
  }
  return { compute, layout, block: blocks.parameters, step, close }
}
