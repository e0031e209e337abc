import { type AiSdkSession, Outcome, Sandbox, SandboxFiles } from "@effect-rl/sandbox"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import * as Machine from "../Machine.ts"
import { contract } from "./Contract.ts"
import * as LocalSession from "./LocalSession.ts"
import * as MachineSession from "./MachineSession.ts"

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

contract(
  "a session of the AI SDK that is a machine of its own",
  Sandbox.Sandbox.layerSession(MachineSession.options),
  Machine.lacksBubblewrap
)

/** A clock that advances two seconds each time it is read, and whose sleeps never end. */
const blocked = (): Clock.Clock => {
  let millis = 0
  const look = () => millis += 2000
  const lookNanos = () => BigInt(look()) * 1_000_000n
  return {
    currentTimeMillisUnsafe: look,
    currentTimeMillis: Effect.sync(look),
    currentTimeNanosUnsafe: lookNanos,
    currentTimeNanos: Effect.sync(lookNanos),
    monotonicTimeNanosUnsafe: lookNanos,
    monotonicTimeNanos: Effect.sync(lookNanos),
    sleep: () => Effect.never
  }
}

const place = (role: "agent" | "grader") =>
  Effect.flatMap(Sandbox.Sandbox, ({ open }) => open({ runtime: "shell", role, code: "scripted" }))

describe.skipIf(lacksShell !== undefined)("a session of the AI SDK", { concurrent: false }, () => {
  it.live("opens for each program of a grader and closes after it", () =>
    Effect.gen(function*() {
      const before = LocalSession.counts.open
      const { exec } = yield* place("grader")
      assert.strictEqual(LocalSession.counts.open, before)
      const write = ["sh", "-c", "echo x >> ../left; cat ../left"] as const
      const outcomes = [yield* exec({ argv: write }), yield* exec({ argv: write })]
      assert.deepStrictEqual(outcomes.map(({ stdout }) => Outcome.text(stdout)), ["x\n", "x\n"])
      assert.strictEqual(LocalSession.counts.open, before)
    }).pipe(Effect.scoped, Effect.provide(layer)))

  it.live("opens once for an agent and closes with its scope", () =>
    Effect.gen(function*() {
      const before = LocalSession.counts.open
      yield* Effect.scoped(Effect.gen(function*() {
        yield* place("agent")
        assert.strictEqual(LocalSession.counts.open, before + 1)
      }))
      assert.strictEqual(LocalSession.counts.open, before)
    }).pipe(Effect.provide(layer)))

  it.live("reads undefined for a folder", () =>
    Effect.gen(function*() {
      const { exec, read } = yield* place("agent")
      yield* exec({ argv: ["mkdir", "folder"] })
      assert.isUndefined(yield* read("folder"))
    }).pipe(Effect.scoped, Effect.provide(layer)))

  it.live("refuses sampled code unless its options allow it", () =>
    Effect.gen(function*() {
      const { open } = yield* Sandbox.Sandbox
      const error = yield* Effect.flip(open({ runtime: "shell", role: "agent" }))
      assert.strictEqual(error.reason._tag, "Denied")
    }).pipe(Effect.scoped, Effect.provide(layer)))

  it.live("does not support folders at absolute paths unless its options allow it", () =>
    Effect.gen(function*() {
      const { open } = yield* Sandbox.Sandbox
      const error = yield* Effect.flip(
        open({ runtime: "shell", role: "agent", code: "scripted", folders: { "/app": "app" } })
      )
      assert.strictEqual(error.reason._tag, "Unsupported")
    }).pipe(Effect.scoped, Effect.provide(layer)))

  it.live("reports a timeout even if the program blocked this process's timers", () =>
    Effect.gen(function*() {
      const { open } = yield* Sandbox.Sandbox
      const { exec } = yield* open({ runtime: "shell", role: "agent", code: "scripted", limits: { wall: "1 second" } })
      assert.strictEqual((yield* exec({ argv: ["true"] }))._tag, "TimedOut")
    }).pipe(Effect.scoped, Effect.provideService(Clock.Clock, blocked()), Effect.provide(layer)))

  it.live("fails as a sandbox error if it cannot be opened", () =>
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

describe.skipIf(Machine.lacksBubblewrap !== undefined)(
  `a session on a separate machine${
    Machine.lacksBubblewrap === undefined ? "" : ` (skipped: ${Machine.lacksBubblewrap})`
  }`,
  () => {
    it.live("keeps files that programs and callers write to the spec's folders, by either path", () =>
      Effect.gen(function*() {
        const { open } = yield* Sandbox.Sandbox
        const place = yield* open({
          runtime: "shell",
          role: "agent",
          files: SandboxFiles.make({ "app/a.txt": "a" }),
          folders: { "/app": "app" }
        })
        yield* place.write("app/b.txt", "b")
        const outcome = yield* place.exec({
          argv: ["sh", "-c", "cat /app/a.txt /app/b.txt; printf c > /app/c.txt; echo ~"]
        })
        assert.strictEqual(Outcome.text(outcome.stdout), "ab/home/user/work\n")
        assert.strictEqual(Outcome.text((yield* place.read("app/c.txt")) ?? new Uint8Array(0)), "c")
      }).pipe(Effect.scoped, Effect.provide(Sandbox.Sandbox.layerSession(MachineSession.options))))

    it.live("refuses a folder whose absolute path already exists", () =>
      Effect.gen(function*() {
        const { open } = yield* Sandbox.Sandbox
        const error = yield* Effect.flip(open({ runtime: "shell", role: "agent", folders: { "/home": "app" } }))
        assert.strictEqual(
          error.message,
          "session of a machine: open: the sandbox could not be set up: its folders: Exited: there is /home already"
        )
      }).pipe(Effect.scoped, Effect.provide(Sandbox.Sandbox.layerSession(MachineSession.options))))
  }
)
