/** The backend on the CPU with the engine's smallest model, if this machine has a Python with torch. */
import { TorchBackend } from "@effect-rl/torch"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, FileSystem, Layer } from "effect"
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"

/** The folder of `effect-rl/tiny-64`, a Qwen3 with three layers. */
export const folder = fileURLToPath(new URL("../../engine/presets/tiny-64", import.meta.url))

/** The Python from `EFFECT_RL_PYTHON`; default `python3`. */
export const python = process.env["EFFECT_RL_PYTHON"] ?? "python3"

const { status } = spawnSync(python, ["-c", "import torch, transformers, peft, safetensors"], { stdio: "ignore" })

/** Whether this Python has the packages that the backend needs. */
export const hasTorch = status === 0

/** A suffix for test names that tells why tests are skipped. */
export const where = hasTorch ? "" : ` (skipped: ${python} lacks torch, transformers, peft or safetensors)`

export const model = "tiny"

/** The backend with checkpoints in a temporary folder. */
export const layer = (options: Partial<TorchBackend.Options> = {}) =>
  Layer.unwrap(Effect.map(
    FileSystem.FileSystem.use((fs) => fs.makeTempDirectoryScoped()),
    (checkpoints) =>
      TorchBackend.layer({
        model: folder,
        name: model,
        python,
        device: "cpu",
        dtype: "float32",
        checkpoints,
        ...options
      })
  )).pipe(Layer.provideMerge(NodeServices.layer))
