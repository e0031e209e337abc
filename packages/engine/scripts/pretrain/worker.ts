/** A worker of a pretraining run, which computes the gradients of one shard at a time. */
import { LossValue } from "@effect-rl/core/backend"
import type { Compute } from "@effect-rl/engine/model/Compute"
import * as Pass from "@effect-rl/engine/model/Pass"
import * as Kernels from "@effect-rl/engine/numerics/Kernels"
import * as Memory from "@effect-rl/engine/numerics/Memory"
import { parentPort, workerData } from "node:worker_threads"
import type { Document } from "../corpus/Documents.ts"
import type { Done, Shard, Start } from "./Protocol.ts"

const { arena, config, memory, module, weights }: Start = workerData
const compute: Compute = {
  kernels: Kernels.instantiate(module, memory),
  memory,
  config,
  weights,
  arena: Memory.arena(arena)
}

const exampleOf = ({ tokens, weights }: Document): Pass.Example => ({
  tokens: tokens.subarray(0, -1),
  targets: tokens.subarray(1),
  read: Uint8Array.from(weights.subarray(1), (weight) => Number(weight > 0)),
  candidates: 1
})

parentPort?.on("message", ({ documents, gradients, index }: Shard) => {
  const weightsD = documents.map((document) => document.weights.subarray(1))
  const { loss } = Pass.forwardBackward(
    compute,
    documents.map(exampleOf),
    gradients,
    (logprobs, document) => LossValue.crossEntropy(logprobs, { weights: weightsD[document] ?? new Float32Array() })
  )
  parentPort?.postMessage({ index, loss } satisfies Done)
})
