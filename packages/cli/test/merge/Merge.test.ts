import { Tinker } from "@effect-rl/core"
import { Engine } from "@effect-rl/engine"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import * as CommandLine from "../CommandLine.ts"

const { run, runFolder } = CommandLine

const model = "effect-rl/tiny-64"

/** The folder of a new adapter. */
const saved = (checkpoints: string) =>
  Effect.gen(function*() {
    const tinker = yield* Tinker.Tinker
    const client = yield* tinker.createLoraTrainingClient({ baseModel: model, loraRank: 2, seed: 1 })
    const { path } = yield* Effect.flatMap(client.saveState("fresh"), (pending) => pending.await)
    return join(checkpoints, path.slice("engine://".length))
  }).pipe(
    Effect.scoped,
    Effect.provide(Engine.layerOptions({ checkpoints, workers: 0 })),
    Effect.provide(NodeServices.layer)
  )

const elsewhere: ReadonlyArray<readonly [adapter: string, message: string]> = [
  [
    "tinker://run/weights/000010",
    "adapter tinker://run/weights/000010: no run under runs has saved it on this machine"
  ],
  ["nowhere@3", "adapter nowhere@3: neither the folder of a run, such as runs/arithmetic-0"]
]

describe("effect-rl merge", () => {
  it.effect("writes an adapter and its model as one folder, and refuses to overwrite it", () =>
    Effect.gen(function*() {
      const folder = dirname(yield* runFolder)
      const adapter = yield* saved(join(folder, "checkpoints"))
      const command = ["merge", adapter, "--model", model, "--out", join(folder, "merged")] as const
      const { exit, out } = yield* run(...command)
      assert.isTrue(Exit.isSuccess(exit))
      assert.strictEqual(out.at(-1), `written: ${join(folder, "merged")}`)
      assert.includeMembers(readdirSync(join(folder, "merged")), ["config.json", "model.safetensors", "tokenizer.json"])
      const again = yield* run(...command)
      assert.isTrue(Exit.isFailure(again.exit))
      assert.match(again.errors.at(-1) ?? "", /^error: cannot merge: .*merged is in the way/)
    }))

  it.effect("writes files for llama.cpp, merged or as a base with its adapter", () =>
    Effect.gen(function*() {
      const folder = dirname(yield* runFolder)
      const adapter = yield* saved(join(folder, "checkpoints"))
      const written = (format: string, out: string) =>
        run("merge", adapter, "--model", model, "--format", format, "--out", join(folder, out))
      assert.strictEqual((yield* written("gguf", "policy.gguf")).out.at(-1), `written: ${join(folder, "policy.gguf")}`)
      assert.strictEqual(readFileSync(join(folder, "policy.gguf")).subarray(0, 4).toString(), "GGUF")
      yield* written("gguf-lora", "policy")
      assert.sameMembers(readdirSync(join(folder, "policy")), ["base.gguf", "adapter.gguf"])
      const again = yield* written("gguf", "policy.gguf")
      assert.match(again.errors.at(-1) ?? "", /^error: cannot export as GGUF: .*policy\.gguf is in the way/)
    }))

  it.effect("refuses a folder without an adapter", () =>
    Effect.gen(function*() {
      const { errors, exit } = yield* run("merge", "packages", "--model", model, "--out", "unused")
      assert.isTrue(Exit.isFailure(exit))
      assert.include(errors.at(-1), "adapter_config.json")
      assert.isFalse(existsSync("unused"))
    }))

  it.effect.each(elsewhere)(
    "says which adapters it can merge if it is given %s",
    ([adapter, message]) =>
      Effect.gen(function*() {
        const { errors } = yield* run("merge", adapter, "--out", "unused")
        assert.include(errors.at(-1), message)
      })
  )
})
