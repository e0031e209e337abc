import { Tinker } from "@effect-rl/core"
import * as Engine from "@effect-rl/engine/Engine"
import * as KernelCheck from "@effect-rl/engine/model/KernelCheck"
import * as Kernels from "@effect-rl/engine/numerics/Kernels"
import { base64 } from "@effect-rl/engine/numerics/KernelsWasm.gen"
import * as Memory from "@effect-rl/engine/numerics/Memory"
import * as WideVectors from "@effect-rl/engine/numerics/WideVectors"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Array, ConfigProvider, Effect, Logger } from "effect"
import { spawnSync } from "node:child_process"
import * as TestEngine from "../runtime/TestEngine.ts"

const isPossible = process.arch === "x64" && ["13", "14"].includes(process.versions.v8.split(".")[0] ?? "")

/** V8's trace of combined vectors while this program runs, with the program's own output. */
const traced = (program: string) => {
  const args = ["--conditions=@effect-rl/source", "--input-type=module", "--trace-wasm-revectorize", "--eval", program]
  const { stdout } = spawnSync(process.execPath, args, { cwd: import.meta.dirname, encoding: "utf8", maxBuffer: 1e8 })
  return stdout
}

/** Runs the matrix product until V8's optimizing compiler has compiled it. */
const use = `
  const use = (module) => {
    const memory = new WebAssembly.Memory({ initial: 100, maximum: 65536, shared: true })
    const { gemm } = Kernels.instantiate(module, memory)
    for (let i = 0; i < 3000; i++) gemm(1 << 20, 1 << 21, 1 << 22, 48, 48, 48, 48, 48, 0)
  }
`

const imports = `
  import * as Kernels from "@effect-rl/engine/numerics/Kernels"
  import * as Memory from "@effect-rl/engine/numerics/Memory"
import * as WideVectors from "@effect-rl/engine/numerics/WideVectors"
`

/** An engine's first log lines, and the samples that it draws. */
const sampled = (options: Engine.EngineOptions, environment: Record<string, string> = {}) =>
  Effect.gen(function*() {
    const lines: Array<string> = []
    const logger = Logger.make<unknown, void>(({ message }) => void lines.push(String(message)))
    const sampler = Effect.gen(function*() {
      const tinker = yield* Tinker.Tinker
      const client = yield* tinker.createSamplingClient({ baseModel: TestEngine.model })
      return yield* Effect.forEach(Array.range(1, 8), (seed) =>
        client.sample({ prompt: TestEngine.prompt(seed), params: { maxTokens: 30, seed } }))
    })
    const samples = yield* sampler.pipe(
      Effect.scoped,
      Effect.provide(Engine.layerOptions({ workers: 2, checkpoints: "unused", ...options })),
      Effect.provide([
        NodeServices.layer,
        Logger.layer([logger]),
        ConfigProvider.layer(ConfigProvider.fromUnknown(environment))
      ])
    )
    return { lines, samples }
  })

describe("wide vectors", () => {
  it("compute the same bits as narrow ones", () => {
    const module = WideVectors.compile()
    assert.strictEqual(module !== undefined, isPossible)
    if (module !== undefined) assert.isTrue(KernelCheck.agree(module, Kernels.compile()))
  })

  it("cover every kernel within the flag's 32 bits", () => {
    const kernels = Kernels.instantiate(Kernels.compile(), Memory.make())
    const indices = Object.values(kernels).flatMap((kernel) =>
      typeof kernel === "function" ? [Number(kernel.name)] : []
    )
    assert.isNotEmpty(indices)
    assert.isBelow(Math.max(...indices), 32)
  })

  it("are refused if a constant of the kernels differs slightly", () => {
    const bytes = Buffer.from(base64, "base64")
    const constant = Buffer.from(Float32Array.of(1.6666665459e-1).buffer)
    const at = bytes.indexOf(constant)
    assert.isAbove(at, 0)
    bytes.writeUInt8((bytes[at + 1] ?? 0) ^ 64, at + 1)
    assert.isFalse(KernelCheck.agree(Kernels.compileBytes(bytes), Kernels.compile()))
  })

  it.skipIf(!isPossible)("are used only for the engine's kernels, not for modules compiled before or after", () => {
    const narrow = traced(`${imports}${use}
      use(Kernels.compile())
      WideVectors.compile()
      console.log("compiled")
      use(Kernels.compile("another"))
    `)
    const [before = "", after = ""] = narrow.split("compiled\n")
    assert.match(before, /revec/i)
    assert.notMatch(after, /revec/i)
  })

  it.skipIf(!isPossible)("leave V8's flag on if the process was started with it", () => {
    const args = ["--conditions=@effect-rl/source", "--input-type=module", "--experimental-wasm-revectorize"]
    const program = `${imports}${use}
      WideVectors.compile()
      console.log("compiled")
      use(Kernels.compile("another"))
    `
    const { stdout } = spawnSync(
      process.execPath,
      [...args, "--trace-wasm-revectorize", "--no-wasm-lazy-compilation", "--no-liftoff", "--eval", program],
      { cwd: import.meta.dirname, encoding: "utf8", maxBuffer: 1e8 }
    )
    assert.match(stdout.split("compiled\n")[1] ?? "", /revec/i)
  })

  it.effect("are logged once, and can be disabled by option or environment without changing samples", () =>
    Effect.gen(function*() {
      const usual = yield* sampled({})
      assert.deepStrictEqual(usual.lines, [`engine: 2 compute threads, ${isPossible ? 256 : 128}-bit vectors`])
      for (
        const off of [
          yield* sampled({ wideVectors: false }),
          yield* sampled({}, { EFFECT_RL_WIDE_VECTORS: "false" })
        ]
      ) {
        assert.deepStrictEqual(off.lines, ["engine: 2 compute threads, 128-bit vectors"])
        assert.deepStrictEqual(off.samples, usual.samples)
      }
    }))
})
