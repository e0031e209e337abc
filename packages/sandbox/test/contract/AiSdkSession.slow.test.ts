import { type AiSdkSession, Outcome, Sandbox } from "@effect-rl/sandbox"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { contract } from "./Contract.ts"
import * as LocalSession from "./LocalSession.ts"

const options: AiSdkSession.Options = {
  provider: "local session",
  isolation: "none",
  sampledCode: false,
  runtimes: ["shell"],
  network: "open",
  open: LocalSession.open
}

const layer = Sandbox.Sandbox.layerSession(options)

const lacksShell = process.platform === "win32" ? "no sh" : undefined

contract("a session of the AI SDK", layer, lacksShell)

const place = (role: "agent" | "grader") =>
  Effect.flatMap(Sandbox.Sandbox, ({ open }) => open({ runtime: "shell", role, code: "scripted" }))

describe.skipIf(lacksShell !== undefined)("a session of the AI SDK", { concurrent: false }, () => {
  it.live("is opened for each program of a grader, and closed after it", () =>
    Effect.gen(function*() {
      const before = LocalSession.counts.open
      const { exec } = yield* place("grader")
      assert.strictEqual(LocalSession.counts.open, before)
      const write = ["sh", "-c", "echo x >> ../left; cat ../left"] as const
      const outcomes = [yield* exec({ argv: write }), yield* exec({ argv: write })]
      assert.deepStrictEqual(outcomes.map(({ stdout }) => Outcome.text(stdout)), ["x\n", "x\n"])
      assert.strictEqual(LocalSession.counts.open, before)
    }).pipe(Effect.scoped, Effect.provide(layer)))

  it.live("is one for an agent, and ends with its scope", () =>
    Effect.gen(function*() {
      const before = LocalSession.counts.open
      yield* Effect.scoped(Effect.gen(function*() {
        yield* place("agent")
        assert.strictEqual(LocalSession.counts.open, before + 1)
      }))
      assert.strictEqual(LocalSession.counts.open, before)
    }).pipe(Effect.provide(layer)))

  it.live("finds no file where there is a folder", () =>
    Effect.gen(function*() {
      const { exec, read } = yield* place("agent")
      yield* exec({ argv: ["mkdir", "folder"] })
      assert.isUndefined(yield* read("folder"))
    }).pipe(Effect.scoped, Effect.provide(layer)))

  it.live("takes no code of a model unless its options say so", () =>
    Effect.gen(function*() {
      const { open } = yield* Sandbox.Sandbox
      const error = yield* Effect.flip(open({ runtime: "shell", role: "agent" }))
      assert.strictEqual(error.reason._tag, "Denied")
    }).pipe(Effect.scoped, Effect.provide(layer)))

  it.live("that cannot be opened is a failure of the place", () =>
    Effect.gen(function*() {
      const { open } = yield* Sandbox.Sandbox
      const error = yield* Effect.flip(open({ runtime: "shell", role: "agent", code: "scripted" }))
      assert.strictEqual(error.message, "local session: open: the sandbox could not be set up: Error: no room")
    }).pipe(
      Effect.scoped,
      Effect.provide(
        Sandbox.Sandbox.layerSession({ ...options, open: () => Promise.reject(new Error("no room")) })
      )
    ))
})
