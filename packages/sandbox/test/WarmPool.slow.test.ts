import { Outcome, Sandbox, SandboxFiles } from "@effect-rl/sandbox"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import * as Machine from "./Machine.ts"
import * as Remains from "./soak/Remains.ts"

const lacks = Machine.lacksBubblewrap

/** The sandboxes that wait for a program. Each has one process that is a child of this process. */
const waiting = () => Remains.children(String(process.pid))

const withTurns = <A, E>(concurrency: number, effect: Effect.Effect<A, E, Sandbox.Sandbox | Scope.Scope>) =>
  effect.pipe(Effect.scoped, Effect.provide(Sandbox.Sandbox.layerBubblewrap({ concurrency })))

const open = (files: Readonly<Record<string, string>> = {}) =>
  Sandbox.Sandbox.use(({ open }) =>
    open({ runtime: "shell", role: "grader", files: SandboxFiles.make(files), limits: { wall: "1 second" } })
  )

const shell = (place: Sandbox.Handle, script: string, ...args: ReadonlyArray<string>) =>
  Effect.map(
    place.exec({ argv: ["sh", "-c", script, "sh", ...args] }),
    (outcome) => Outcome.is("Exited")(outcome) ? Outcome.text(outcome.stdout) : outcome._tag
  )

const title = `bubblewrap sandboxes that are set up in advance${lacks === undefined ? "" : ` (skipped: ${lacks})`}`

describe.skipIf(lacks !== undefined)(title, { concurrent: false }, () => {
  it.live("a sandbox waits after a grader's first program, runs the next program, and ends with its scope", () =>
    withTurns(
      2,
      Effect.gen(function*() {
        const scope = yield* Scope.make()
        const place = yield* Scope.provide(open(), scope)
        assert.lengthOf(waiting(), 0)
        yield* shell(place, "echo seen > /tmp/seen; echo seen > seen")
        const [first, ...others] = waiting()
        assert.lengthOf(others, 0)
        assert.strictEqual(yield* shell(place, "cat /tmp/seen seen 2> /dev/null; echo new"), "new\n")
        assert.lengthOf(waiting(), 1)
        assert.notStrictEqual(waiting()[0], first)
        yield* Scope.close(scope, Exit.void)
        assert.lengthOf(waiting(), 0)
      })
    ))

  it.live("the program finds files written while the sandbox waited, and gets its arguments unchanged", () =>
    withTurns(
      2,
      Effect.gen(function*() {
        const place = yield* open({ "a.txt": "before" })
        yield* shell(place, ":")
        yield* place.write("a.txt", "after")
        const args = ["it's", "two\nlines\n", "$HOME `id` \\n \"", "", "ü 数", "*"]
        assert.strictEqual(
          yield* shell(place, "cat a.txt; printf '<%s>' \"$@\"", ...args),
          `after${args.map((word) => `<${word}>`).join("")}`
        )
        assert.strictEqual(yield* shell(place, "printf %s \"$1\" | wc -c", "x".repeat(10_000)), "10000\n")
      })
    ))

  it.live("the time limit starts when the program starts, not when the sandbox is set up", () =>
    withTurns(
      2,
      Effect.gen(function*() {
        const place = yield* open()
        yield* shell(place, ":")
        yield* Effect.sleep("1500 millis")
        assert.strictEqual(yield* shell(place, "echo in time"), "in time\n")
        assert.strictEqual(yield* shell(place, "sleep 60"), "TimedOut")
      })
    ))

  it.live("a program still runs after the sandbox that waited for it was killed", () =>
    withTurns(
      2,
      Effect.gen(function*() {
        const place = yield* open()
        yield* shell(place, ":")
        for (const pid of waiting()) process.kill(Number(pid), "SIGKILL")
        yield* Effect.sleep("200 millis")
        assert.strictEqual(yield* shell(place, "echo next"), "next\n")
      })
    ))

  it.live("an interrupted program ends", () =>
    withTurns(
      2,
      Effect.gen(function*() {
        const place = yield* open()
        yield* shell(place, ":")
        const fiber = yield* Effect.forkChild(place.exec({ argv: ["sleep", "60"] }), { startImmediately: true })
        yield* Effect.sleep("100 millis")
        yield* Fiber.interrupt(fiber)
        assert.isAtMost(waiting().length, 1)
      })
    ))

  it.live("a program that runs when its scope closes is killed, whether or not its sandbox waited for it", () =>
    withTurns(
      2,
      Effect.gen(function*() {
        const ending = Effect.fnUntraced(function*(before: number) {
          const scope = yield* Scope.make()
          const place = yield* Scope.provide(open(), scope)
          for (let index = 0; index < before; index++) yield* shell(place, ":")
          const fiber = yield* Effect.forkChild(shell(place, "sleep 60"), { startImmediately: true })
          yield* Effect.sleep("100 millis")
          yield* Scope.close(scope, Exit.void)
          return yield* Fiber.await(fiber)
        })
        assert.deepStrictEqual(yield* ending(0), Exit.succeed("Killed"))
        assert.deepStrictEqual(yield* ending(1), Exit.succeed("Killed"))
      })
    ))

  it.live("at most as many wait as programs may run, and none wait if there is only one permit", () =>
    Effect.gen(function*() {
      const many = (concurrency: number) =>
        withTurns(
          concurrency,
          Effect.gen(function*() {
            const places = yield* Effect.all(Array.from({ length: 5 }, () => open()))
            yield* Effect.forEach(places, (place) => shell(place, ":"))
            return waiting().length
          })
        )
      assert.strictEqual(yield* many(2), 2)
      assert.strictEqual(yield* many(1), 0)
    }))
})
