import * as Kernels from "@effect-rl/engine/numerics/Kernels"
import * as Memory from "@effect-rl/engine/numerics/Memory"
import * as Thread from "@effect-rl/engine/runtime/Thread"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"

/** Prints a log-probability from an engine with one worker. */
const program = `
  import { Tinker } from "@effect-rl/core"
  import { ModelInput } from "@effect-rl/core/backend"
  import { Engine } from "@effect-rl/engine"
  import * as NodeServices from "@effect/platform-node/NodeServices"
  import { Effect } from "effect"
  const score = Effect.gen(function*() {
    const tinker = yield* Tinker.Tinker
    const sampler = yield* tinker.createSamplingClient({ baseModel: "effect-rl/tiny-64" })
    return yield* sampler.computeLogprobs(ModelInput.fromTokens([40, 41]))
  })
  const layers = [Engine.layerOptions({ workers: 1, checkpoints: "unused" })]
  Effect.runPromise(score.pipe(Effect.scoped, Effect.provide(layers), Effect.provide(NodeServices.layer)))
    .then((scores) => console.log(scores[1]))
`

/** The output of the program in a process with these flags, started by an optional command. */
const withFlags = (flags: ReadonlyArray<string>, ...starter: ReadonlyArray<string>) =>
  Effect.callback<string>((resume) => {
    const args = ["--conditions=@effect-rl/source", "--input-type=module", ...flags, "--eval", program]
    const [command = process.execPath, ...rest] = [...starter, process.execPath, ...args]
    // A cache of compiled code takes virtual memory, which a test limits.
    const env = { ...process.env, NODE_DISABLE_COMPILE_CACHE: "1" }
    const child = spawn(command, rest, { cwd: import.meta.dirname, env, stdio: ["ignore", "pipe", "pipe"] })
    let text = ""
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (more) => (text += more))
    child.once("close", () => resume(Effect.succeed(text)))
    return Effect.sync(() => child.kill("SIGKILL"))
  })

/** Only Linux can limit a process to less virtual memory than the engine's 4 GiB. */
const isLimitable = process.platform === "linux"

describe("compute threads", () => {
  it.effect.each([
    "--max-old-space-size=300",
    "--expose-gc --stack-size=900",
    "--title=trainer --no-warnings --enable-source-maps"
  ])("start in a process with %s", (flags) =>
    Effect.gen(function*() {
      assert.match(yield* withFlags(flags.split(" ")), /\n-\d+\.\d+\n$/)
    }))

  it.effect.skipIf(!isLimitable)(
    "fail with a typed error if virtual memory is too small",
    () =>
      Effect.gen(function*() {
        const text = yield* withFlags([], "sh", "-c", "ulimit -v 4000000 && exec \"$0\" \"$@\"")
        assert.include(
          text,
          "EngineError: the engine cannot start: its kernels or its memory of up to 4 GiB cannot be set up"
        )
      })
  )

  it.effect("fail with a typed error if they cannot be started", () =>
    Effect.gen(function*() {
      const memory = { ...Memory.make(), grow: () => 0, buffer: new SharedArrayBuffer(0) }
      const listener = { onReply: () => {}, onFailure: () => {} }
      const error = yield* Effect.flip(Thread.worker({ module: Kernels.compile(), memory }, listener))
      assert.strictEqual(error._tag, "Unavailable")
      assert.strictEqual(error.detail, "a compute thread cannot be started: () => 0 could not be cloned.")
    }).pipe(Effect.scoped))
})
