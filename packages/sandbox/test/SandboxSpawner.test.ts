import { Outcome, Sandbox, SandboxSpawner, Scripted } from "@effect-rl/sandbox"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { ChildProcess } from "effect/process"

/** A provider whose programs print each word of their command on a line, and then their input. */
const provider = Sandbox.Sandbox.layerScripted({
  run: () => Effect.succeed(Scripted.printed("")),
  start: ({ command: { argv }, stdin }) =>
    Stream.concat(Stream.encodeText(Stream.fromIterable(argv.map((word) => `${word}\n`))), stdin)
})

const spawner = Effect.gen(function*() {
  const { open } = yield* Sandbox.Sandbox
  return SandboxSpawner.make(yield* open({ runtime: "shell", role: "agent" }))
})

describe("a process spawner in a sandbox", () => {
  it.effect("starts a command with its arguments and returns its streams", () =>
    Effect.gen(function*() {
      const handle = yield* (yield* spawner).spawn(ChildProcess.make("server", ["--name", "a b"]))
      yield* Stream.run(Stream.encodeText(Stream.make("input")), handle.stdin)
      assert.isTrue(yield* handle.isRunning)
      assert.strictEqual(Outcome.text(yield* Stream.mkUint8Array(handle.stdout)), "server\n--name\na b\ninput")
      assert.strictEqual(yield* handle.exitCode, 0)
      assert.isFalse(yield* handle.isRunning)
    }).pipe(Effect.scoped, Effect.provide(provider)))

  it.effect("kills a process, which then has no exit code", () =>
    Effect.gen(function*() {
      const handle = yield* (yield* spawner).spawn(ChildProcess.make("server", []))
      yield* handle.kill()
      const error = yield* Effect.flip(handle.exitCode)
      assert.include(error.message, "the process ended as Killed")
    }).pipe(Effect.scoped, Effect.provide(provider)))

  it.effect("refuses options that a sandbox does not support", () =>
    Effect.gen(function*() {
      const { spawn } = yield* spawner
      const server = ChildProcess.make("server", [], { cwd: "/tmp" })
      assert.include((yield* Effect.flip(spawn(server))).message, "expected no cwd")
      const piped = ChildProcess.pipeTo(ChildProcess.make("a", []), ChildProcess.make("b", []))
      assert.include((yield* Effect.flip(spawn(piped))).message, "expected one program in place of a pipeline")
    }).pipe(Effect.scoped, Effect.provide(provider)))
})
