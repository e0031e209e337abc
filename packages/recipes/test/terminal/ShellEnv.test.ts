import { EnvMetric, Rollout } from "@effect-rl/core"
import { ShellTask } from "@effect-rl/recipes"
import { Outcome, Sandbox, SandboxError, type SandboxSpec, Scripted } from "@effect-rl/sandbox"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Option, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { createHash } from "node:crypto"
import * as Terminal from "./Terminal.ts"

const bytes = (text: string) => new TextEncoder().encode(text)

const nothing = { stdout: new Uint8Array(0), stderr: new Uint8Array(0), wallMillis: 0 }

const hash = (content: Uint8Array) => createHash("sha256").update(content).digest("hex")

/** The output of the command that lists an agent's files. */
const listing = (files: ReadonlyMap<string, Uint8Array>) =>
  `\0${Array.from(files, ([path, content]) => `${hash(content)}  ./${path}\n`).join("")}`

interface Places {
  readonly opened: Array<SandboxSpec.Resolved>
  /** Names of the files that the tests found. */
  readonly graded: Array<ReadonlyArray<string>>
}

/** A sandbox in which an agent's command `write PATH` writes a file, and tests print a verdict. */
const scripted = (verdict: string, places: Places = { opened: [], graded: [] }) =>
  Sandbox.Sandbox.layerScripted({
    open: (spec) => Effect.sync(() => void places.opened.push(spec)),
    run: ({ command: { argv }, files, spec: { role } }) =>
      Effect.sync(() => {
        if (role === "grader") {
          places.graded.push([...files.keys()].sort())
          return Scripted.printed(verdict)
        }
        const text = argv.at(-1) ?? ""
        if (argv[0] === "sh") return Scripted.printed(listing(files))
        if (text.startsWith("write ")) files.set(text.slice(6), bytes("written"))
        return Scripted.printed(`ran ${text}`)
      })
  })

const task = Terminal.task("exit 0")

describe("the terminal environment", () => {
  it.effect("answers commands with their exit status and output", () =>
    Effect.gen(function*() {
      const { stopReason, transitions } = yield* Terminal.play({ task }, Terminal.command("ls"))
      assert.deepStrictEqual(stopReason, Option.some("completed"))
      assert.strictEqual(
        String(transitions[0]?.logs["tool_result_0"]),
        "{\"outcome\": \"exit code 0\", \"stdout\": \"ran ls\", \"stderr\": \"\"}"
      )
    }).pipe(Effect.provide(scripted("reward.txt\n1\n"))))

  it.effect.each([
    { verdict: "reward.txt\n1\n", reward: 1, outcome: "passed" },
    { verdict: "reward.txt\n0.25", reward: 0.25, outcome: "failed" },
    { verdict: "reward.json\n{\"reward\": 0.5, \"style\": 1}", reward: 0.5, outcome: "failed" },
    { verdict: "reward.json\n{\"tests\": 1}", reward: 1, outcome: "passed" },
    { verdict: "reward.json\n{\"a\": 1, \"b\": 1}", reward: 0, outcome: "Unreadable Verdict" },
    { verdict: "reward.json\n{\"tests\": 1}\0reward.txt\n0\n\0", reward: 0, outcome: "failed" },
    { verdict: "reward.json\n{\"tests\": 0}\0reward.txt\n1\n\0", reward: 0, outcome: "failed" },
    { verdict: "reward.json\n{\"tests\": 1}\0reward.txt\n?\n\0", reward: 0, outcome: "Unreadable Verdict" },
    { verdict: "reward.txt\nvery good", reward: 0, outcome: "Unreadable Verdict" },
    { verdict: "reward.txt\nInfinity", reward: 0, outcome: "Unreadable Verdict" },
    { verdict: "", reward: 0, outcome: "No Verdict" }
  ])("gives reward $reward if the tests write $verdict", ({ outcome, reward, verdict }) =>
    Effect.gen(function*() {
      const { stepReward, transitions } = yield* Terminal.play({ task }, Terminal.command("ls"))
      const last = transitions.at(-1)
      assert.strictEqual(stepReward, reward)
      assert.strictEqual(last?.score?.success, reward >= 1)
      assert.deepStrictEqual(last?.score?.verdict, {
        provider: "scripted",
        outcome,
        digest: ShellTask.digest(task.tests)
      })
      assert.deepStrictEqual(last?.metrics["used_bash"], EnvMetric.rate(true))
    }).pipe(Effect.provide(scripted(verdict))))

  it.effect("judges the remaining files in another sandbox, which contains the tests", () => {
    const places: Places = { opened: [], graded: [] }
    return Effect.gen(function*() {
      yield* Terminal.play(
        { task },
        Terminal.command("write workdir/out.txt"),
        Terminal.command("write tests/test.sh"),
        Terminal.command("write logs/verifier/reward.txt")
      )
      assert.deepStrictEqual(places.opened.map(({ role }) => role), ["agent", "grader"])
      assert.deepStrictEqual(places.opened[0]?.files.map(({ path }) => path), ["workdir/given.txt"])
      assert.deepStrictEqual(places.graded, [["tests/test.sh", "workdir/given.txt", "workdir/out.txt"]])
      const [test] = places.opened[1]?.files.filter(({ path }) => path === "tests/test.sh") ?? []
      assert.strictEqual(Outcome.text(test?.bytes ?? nothing.stdout), "exit 0")
    }).pipe(Effect.provide(scripted("reward.txt\n1\n", places)))
  })

  it.effect("copies a file once, even if another file's name with a line break lists it again", () => {
    const [given] = task.files
    const lines = `${given?.hash}  ./workdir/given.txt\n`
    const graded: Array<ReadonlyArray<string>> = []
    return Effect.gen(function*() {
      assert.strictEqual((yield* Terminal.play({ task })).stepReward, 1)
      assert.deepStrictEqual(graded, [["tests/test.sh", "workdir/given.txt"]])
    }).pipe(Effect.provide(Sandbox.Sandbox.layerScripted({
      run: ({ files, spec: { role } }) =>
        Effect.sync(() => {
          if (role === "agent") return Scripted.printed(`\0${lines}${hash(bytes("x"))}  ./workdir/x\n${lines}`)
          graded.push([...files.keys()].sort())
          return Scripted.printed("reward.txt\n1")
        })
    })))
  })

  it.effect.each([
    {
      outcome: Outcome.TimedOut({ ...nothing, wallMillis: 30_000, limit: "wall" }),
      told: "wall time, after 30 seconds"
    },
    { outcome: Outcome.OutOfMemory(nothing), told: "killed at the limit on memory" },
    { outcome: Outcome.OutputLimit({ ...nothing, of: "stdout" }), told: "killed at the limit on stdout" },
    { outcome: Outcome.Signalled({ ...nothing, signal: "SIGSEGV" }), told: "ended by SIGSEGV" },
    { outcome: Outcome.Exited({ ...nothing, code: 3 }), told: "exit code 3" }
  ])("tells the model that a command ended with $outcome._tag", ({ outcome, told }) =>
    Effect.gen(function*() {
      const { transitions } = yield* Terminal.play({ task }, Terminal.command("ls"))
      assert.include(String(transitions[0]?.logs["tool_result_0"]), told)
    }).pipe(Effect.provide(Sandbox.Sandbox.layerScripted({ run: () => Effect.succeed(outcome) }))))

  it.effect.each([
    { isolation: "namespaces" as const, ends: true },
    { isolation: "none" as const, ends: false }
  ])("ends processes that the tests left running, if there is isolation: $isolation", ({ ends, isolation }) => {
    const graded: Array<string> = []
    const bounded = Layer.effect(
      Sandbox.Sandbox,
      Effect.map(
        Sandbox.Sandbox,
        (sandbox) => Sandbox.Sandbox.of({ ...sandbox, capabilities: { ...sandbox.capabilities, isolation } })
      )
    ).pipe(Layer.provide(Sandbox.Sandbox.layerScripted({
      run: ({ command: { argv }, files, spec: { role } }) =>
        Effect.sync(() => {
          if (role === "agent") return Scripted.printed(listing(files))
          graded.push(argv[2] ?? "")
          return Scripted.printed("reward.txt\n1")
        })
    })))
    return Effect.gen(function*() {
      yield* Terminal.play({ task })
      assert.deepStrictEqual(graded.map((script) => script.includes("kill -KILL -1")), [ends])
    }).pipe(Effect.provide(bounded))
  })

  it.effect("shows the start and the end of a long output", () =>
    Effect.gen(function*() {
      const { transitions } = yield* Terminal.play({ task }, Terminal.command("ls"))
      const said = String(transitions[0]?.logs["tool_result_0"])
      assert.match(said, /"stdout": "a{2000}\\n\.\.\. \(6000 characters left out\) \.\.\.\\nb{2000}"/)
    }).pipe(
      Effect.provide(
        Sandbox.Sandbox.layerScripted({
          run: () => Effect.succeed(Scripted.printed("a".repeat(5000) + "b".repeat(5000)))
        })
      )
    ))

  it.effect("ends when the task's time is over, and judges the files at that point", () =>
    Effect.gen(function*() {
      const { stepReward, stopReason, transitions } = yield* Terminal.play(
        { task: { ...task, timeout: "1 minute" } },
        Terminal.command("fast"),
        Terminal.command("slow")
      )
      assert.strictEqual(transitions.length, 2)
      assert.deepStrictEqual(stopReason, Option.some("tool_stopped"))
      assert.strictEqual(String(transitions[1]?.logs["tool_result_0"]), "The time of the task is over.")
      assert.strictEqual(stepReward, 1)
    }).pipe(Effect.provide(
      Sandbox.Sandbox.layerScripted({
        run: ({ command: { argv }, files, spec: { role } }) => {
          if (role === "grader") return Effect.succeed(Scripted.printed("reward.txt\n1"))
          if (argv[0] === "sh") return Effect.succeed(Scripted.printed(listing(files)))
          const printed = Scripted.printed("")
          return argv.at(-1) === "slow" ? Effect.as(TestClock.adjust("2 minutes"), printed) : Effect.succeed(printed)
        }
      })
    )))
})

describe("a tool server of a terminal task", () => {
  const Request = Schema.fromJsonString(Schema.Struct({
    id: Schema.optionalKey(Schema.Int),
    method: Schema.String,
    params: Schema.optionalKey(Schema.Struct({ protocolVersion: Schema.optionalKey(Schema.String) }))
  }))

  const answerTo = ({ method, params }: typeof Request.Type) => {
    if (method === "initialize") {
      const serverInfo = { name: "clock", version: "1" }
      return { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo }
    }
    return method === "tools/list"
      ? { tools: [{ name: "time", description: "Says the time.", inputSchema: { type: "object", properties: {} } }] }
      : { content: [{ type: "text", text: "noon" }] }
  }

  /** Speaks MCP over the streams of a started process. */
  const started =
    (starts: Array<ReadonlyArray<string>>): NonNullable<Scripted.Script["start"]> => ({ command: { argv }, stdin }) => {
      starts.push(argv)
      return Stream.decodeText(stdin).pipe(
        Stream.splitLines,
        Stream.mapEffect((line) => Effect.orDie(Schema.decodeUnknownEffect(Request)(line))),
        Stream.filter(({ id }) => id !== undefined),
        Stream.map((request) => `${JSON.stringify({ jsonrpc: "2.0", id: request.id, result: answerTo(request) })}\n`),
        Stream.encodeText
      )
    }

  const served = { ...task, servers: [{ name: "clock", command: ["clock", "--utc"] as const }] }

  const place = (starts: Array<ReadonlyArray<string>>) =>
    Sandbox.Sandbox.layerScripted({
      start: started(starts),
      run: ({ command: { argv }, files, spec: { role } }) => {
        if (role === "grader") return Effect.succeed(Scripted.printed("reward.txt\n1"))
        return Effect.succeed(Scripted.printed(argv[0] === "sh" ? listing(files) : "ran"))
      }
    })

  const call = "<tool_call>\n{\"name\": \"time\", \"arguments\": {}}\n</tool_call>"

  it.effect("gives the model its tools in addition to bash, from one process in the task's folder", () => {
    const starts: Array<ReadonlyArray<string>> = []
    return Effect.gen(function*() {
      const { stepReward, transitions } = yield* Terminal.play({ task: served }, call, call, Terminal.command("ls"))
      assert.deepStrictEqual(transitions.slice(0, 2).map(({ logs }) => logs["tool_result_0"]), ["noon", "noon"])
      assert.deepStrictEqual(starts.map((argv) => argv.slice(-3)), [["/app", "clock", "--utc"]])
      assert.strictEqual(stepReward, 1)
    }).pipe(Effect.provide(place(starts)))
  })

  it.effect("receives no calls after the task's time is over", () =>
    Effect.gen(function*() {
      const { transitions } = yield* Terminal.play({ task: { ...served, timeout: 0 } }, call)
      assert.strictEqual(String(transitions[0]?.logs["tool_result_0"]), "The time of the task is over.")
    }).pipe(Effect.provide(place([]))))
})

describe("the sandboxes of an episode", () => {
  /** Counts the open sandboxes of a script by their role. */
  const counting = (open: Array<SandboxSpec.Role>, script: Scripted.Script) =>
    Layer.effect(
      Sandbox.Sandbox,
      Effect.map(Sandbox.Sandbox, (sandbox) =>
        Sandbox.Sandbox.of({
          ...sandbox,
          open: (spec) =>
            Effect.tap(sandbox.open(spec), () =>
              Effect.acquireRelease(
                Effect.sync(() => open.push(spec.role)),
                () => Effect.sync(() => void open.splice(open.indexOf(spec.role), 1))
              ))
        }))
    ).pipe(Layer.provide(Sandbox.Sandbox.layerScripted(script)))

  it.effect("are closed when the episode ends", () => {
    const open: Array<SandboxSpec.Role> = []
    const seen: Array<ReadonlyArray<SandboxSpec.Role>> = []
    return Effect.gen(function*() {
      yield* Terminal.play({ task }, Terminal.command("ls"))
      assert.deepStrictEqual(seen, [["agent"], ["agent"], ["agent", "grader"]])
      assert.deepStrictEqual(open, [])
    }).pipe(Effect.provide(counting(open, {
      run: ({ command: { argv }, files }) =>
        Effect.sync(() => {
          seen.push([...open])
          return Scripted.printed(argv[0] === "sh" ? listing(files) : "reward.txt\n1")
        })
    })))
  })

  it.effect("are closed when the episode is interrupted during a command", () => {
    const open: Array<SandboxSpec.Role> = []
    return Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      const run = () => Effect.andThen(Deferred.succeed(started, undefined), Effect.never)
      const playing = yield* Effect.forkChild(
        Effect.provide(Terminal.play({ task }, Terminal.command("ls")), counting(open, { run }))
      )
      yield* Deferred.await(started)
      assert.deepStrictEqual(open, ["agent"])
      yield* Fiber.interrupt(playing)
      assert.deepStrictEqual(open, [])
    })
  })
})

describe("a sandbox that fails during a terminal episode", () => {
  const error = new SandboxError.SandboxError({
    provider: "scripted",
    operation: "exec",
    reason: new SandboxError.Lost({ detail: "the power failed" })
  })

  const failing = (role: SandboxSpec.Role) =>
    Sandbox.Sandbox.layerScripted({
      run: ({ command: { argv }, files, spec }) => {
        if (spec.role === role) return Effect.fail(error)
        return Effect.succeed(Scripted.printed(argv[0] === "sh" ? listing(files) : "reward.txt\n1"))
      }
    })

  it.effect.each(["agent", "grader"] as const)(
    "leaves a member ungraded, without a reward, if it is the %s's sandbox",
    (role) =>
      Effect.gen(function*() {
        const group = {
          key: "task",
          size: 2,
          tags: [],
          open: Effect.succeed({ makeEnv: () => Terminal.makeEnv({ task, maxTurns: 1 }) })
        }
        const result = yield* Rollout.group(group, {
          act: () => Effect.succeed(Terminal.sampled(Terminal.command("ls")))
        })
        assert.strictEqual(result._tag, "Skipped")
        if (result._tag !== "Skipped") return
        assert.strictEqual(result.reason.failure, "Ungraded")
        assert.include(JSON.stringify(result.reason), "the power failed")
      }).pipe(Effect.provide(failing(role)))
  )
})
