/** Loads a preset to run on the calling thread. */
import * as ModelFolder from "@effect-rl/engine/checkpoint/ModelFolder"
import * as Weights from "@effect-rl/engine/model/Weights"
import * as Kernels from "@effect-rl/engine/numerics/Kernels"
import * as Memory from "@effect-rl/engine/numerics/Memory"
import { HuggingFaceTokenizer } from "@effect-rl/files"
import { Effect, Path } from "effect"

/** The model in a folder, with 128 MiB of scratch space, and its tokenizer. */
export const load = Effect.fnUntraced(function*(url: URL) {
  const path = yield* Path.Path
  const folder = yield* path.fromFileUrl(url)
  const opened = yield* ModelFolder.open(folder)
  const memory = Memory.make()
  const reserver = Memory.reserver(memory)
  const compute = {
    kernels: Kernels.instantiate(Kernels.compile(), memory),
    memory,
    config: opened.config,
    weights: Weights.allocate(memory, reserver, opened.config, opened.storageOf),
    arena: Memory.arena(reserver.reserve(128 << 20))
  }
  yield* ModelFolder.load(opened, compute)
  return { compute, tokenizer: yield* HuggingFaceTokenizer.fromFolder(folder) }
})
