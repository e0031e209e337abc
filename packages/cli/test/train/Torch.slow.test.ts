import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { spawnSync } from "node:child_process"
import * as CommandLine from "../CommandLine.ts"

/** The Python interpreter in `EFFECT_RL_PYTHON`, or `python3`. */
const python = process.env["EFFECT_RL_PYTHON"] ?? "python3"

const { status } = spawnSync(python, ["-c", "import torch, transformers, peft, safetensors"], { stdio: "ignore" })

const where = status === 0 ? "" : ` (skipped: ${python} lacks torch, transformers, peft or safetensors)`

const torch = ["--backend", "torch", "--python", python, "--device", "cpu", "--dtype", "float32"]

const small = [
  "--groups-per-batch",
  "2",
  "--group-size",
  "2",
  "--iterations",
  "1",
  "--eval-every",
  "0",
  "--max-tokens",
  "8"
]

describe.skipIf(status !== 0)(`--backend torch${where}`, () => {
  it.live("trains a preset, and samples from the trained weights by the run's name", () =>
    Effect.gen(function*() {
      const folder = yield* CommandLine.runFolder
      const model = ["--model", "effect-rl/tiny-64"]
      const trained = yield* CommandLine.run("train", "arithmetic", ...torch, ...model, ...small, "--log-path", folder)
      assert.isTrue(Exit.isSuccess(trained.exit), trained.errors.join())
      const sampled = yield* CommandLine.run("sample", "2 + 2?", ...torch, "--checkpoint", folder, "--max-tokens", "4")
      assert.isTrue(Exit.isSuccess(sampled.exit), sampled.errors.join())
      assert.isAbove(sampled.out.join().length, 0)
    }))
})
