import { McpTools } from "@effect-rl/ai"
import { EnvGroupBuilder, type FunctionTool, Message, Rollout, ToolEnv } from "@effect-rl/core"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Redacted, Schema, type Scope, Sink, Stream } from "effect"
import { type McpClientError, McpProtocol, McpServer, Tool, Toolkit } from "effect/ai"
import { FetchHttpClient, HttpRouter, HttpServer } from "effect/http"
import { ChildProcess, ChildProcessSpawner } from "effect/process"
import { createServer } from "node:http"
import { join } from "node:path"
import * as Agent from "./Agent.ts"

const server = ChildProcess.make(process.execPath, [join(import.meta.dirname, "server.mjs")])

const tools = (...allow: ReadonlyArray<string>) => McpTools.stdio(server, { name: "little", allow })

const call = (tools: ReadonlyArray<FunctionTool.FunctionTool>, name: string, args = "{}") =>
  tools.find(({ spec }) => spec.name === name)?.call(args) ?? Effect.die(`no tool ${name}`)

/** Whether the server's process has ended. */
const isGone = (pid: string) =>
  Effect.sync(() => {
    try {
      process.kill(Number(pid), 0)
      return false
    } catch {
      return true
    }
  })

const live = <E>(name: string, test: Effect.Effect<void, E, NodeServices.NodeServices>) =>
  it.live(name, () => test.pipe(Effect.provide(NodeServices.layer)))

describe("the tools of an MCP server", () => {
  live(
    "are those that are allowed, as it describes them",
    Effect.scoped(Effect.gen(function*() {
      const allowed = yield* tools("add", "pid")
      assert.deepStrictEqual(allowed.map(({ spec }) => spec), [
        {
          name: "add",
          description: "Adds two numbers.",
          parameters: {
            type: "object",
            properties: { a: { type: "integer" }, b: { type: "integer", minimum: 0 } },
            required: ["a", "b"]
          }
        },
        {
          name: "pid",
          description: "Says which process it is.",
          parameters: { type: "object", properties: {}, required: [] }
        }
      ])
    }))
  )

  live(
    "answer",
    Effect.scoped(Effect.gen(function*() {
      const allowed = yield* tools("add", "picture")
      assert.deepStrictEqual(yield* call(allowed, "add", `{"a": 2, "b": 3}`), { content: "5" })
      const { content } = yield* call(allowed, "picture")
      assert.strictEqual(content, "look:\n[image that cannot be shown]\nnotes: file:///notes")
    }))
  )

  live(
    "check their arguments before the server sees them",
    Effect.scoped(Effect.gen(function*() {
      const allowed = yield* tools("add")
      const answers = yield* Effect.forEach(
        [`{"a": 2}`, `{"a": "2", "b": 3}`, `{"a": 2, "b": -1}`, `[]`, `{`],
        (args) => call(allowed, "add", args)
      )
      assert.deepStrictEqual(answers.map(({ failure }) => failure), [
        "validation_failed",
        "validation_failed",
        "validation_failed",
        "validation_failed",
        "json_decode_failed"
      ])
    }))
  )

  live(
    "may take trees, which are checked as deep as they go",
    Effect.scoped(Effect.gen(function*() {
      const allowed = yield* tools("tree")
      const nested = (leaf: string) => `{"root": {"value": 1, "child": {"value": 2, "child": {"value": ${leaf}}}}}`
      assert.deepStrictEqual(yield* call(allowed, "tree", nested("3")), { content: "tree" })
      assert.strictEqual((yield* call(allowed, "tree", nested("\"three\""))).failure, "validation_failed")
    }))
  )

  live(
    "refuse arguments that fit a schema of many choices in more ways than can be tried",
    Effect.scoped(Effect.gen(function*() {
      const allowed = yield* tools("choices", "kinds")
      const nested = (node: string, levels: number, leaf: string) =>
        `{"root": ${`{${node}"child": `.repeat(levels)}${leaf}${"}".repeat(levels)}}`
      assert.deepStrictEqual(yield* call(allowed, "choices", nested("", 8, `{"leaf": 1}`)), { content: "choices" })
      const refused = yield* call(allowed, "choices", nested("", 40, `{"leaf": true}`))
      assert.strictEqual(refused.failure, "validation_failed")
      assert.include(String(refused.content), "checking them takes more than 500000 steps")
      assert.deepStrictEqual(
        yield* call(allowed, "kinds", nested(`"kind": "b", `, 40, `{"kind": "a"}`)),
        { content: "kinds" }
      )
    }))
  )

  live(
    "say when they failed",
    Effect.scoped(Effect.gen(function*() {
      const allowed = yield* tools("refuse")
      const refused = yield* call(allowed, "refuse")
      assert.deepStrictEqual(refused, { content: `{"error": "out of order"}`, failure: "execution_failed" })
    }))
  )
})

describe("a server that dies in the middle of a call", () => {
  live(
    "is an error that the policy is told, now and later",
    Effect.scoped(Effect.gen(function*() {
      const allowed = yield* tools("die", "add")
      const died = yield* call(allowed, "die")
      assert.strictEqual(died.failure, "execution_failed")
      assert.match(String(died.content), /^\{"error": "MCP (process exited|server closed|stdin failed)/)
      const later = yield* call(allowed, "add", `{"a": 1, "b": 1}`)
      assert.strictEqual(later.failure, "execution_failed")
    }))
  )

  live(
    "does not end the episode",
    Effect.scoped(Effect.gen(function*() {
      const env = yield* ToolEnv.make({
        model: { renderer: Agent.renderer("die", "add", undefined) },
        tools: yield* tools("die", "add"),
        messages: [Message.user("go on")],
        grade: (messages) => Effect.succeed({ reward: messages.length })
      })
      const trajectory = yield* Rollout.episode(env, Agent.policy, Agent.key)
      assert.deepStrictEqual(trajectory.transitions.map(({ reward }) => reward), [0, 0, 6])
    }))
  )

  live(
    "fails the attempt, if that is wanted",
    Effect.scoped(Effect.gen(function*() {
      const allowed = yield* McpTools.stdio(server, {
        name: "little",
        allow: ["die"],
        isFatal: (error): error is McpClientError.McpClientError => error.reason._tag === "TransportError"
      })
      const [die] = allowed
      const error = yield* Effect.flip(die?.call("{}") ?? Effect.die("no tool"))
      assert.strictEqual(error._tag, "McpClientError")
    }))
  )
})

describe("a server process ends with its scope", () => {
  live(
    "when it closes",
    Effect.gen(function*() {
      const pid = yield* Effect.scoped(Effect.flatMap(tools("pid"), (allowed) => call(allowed, "pid")))
      assert.isTrue(yield* isGone(String(pid.content)))
    })
  )

  live(
    "when what uses it is interrupted in the middle of a call",
    Effect.gen(function*() {
      let pid = ""
      const using = Effect.scoped(Effect.gen(function*() {
        const allowed = yield* tools("pid", "hang")
        pid = String((yield* call(allowed, "pid")).content)
        yield* call(allowed, "hang")
      }))
      const fiber = yield* Effect.forkChild(using)
      yield* Effect.yieldNow.pipe(Effect.repeat({ until: () => pid !== "" }))
      yield* Fiber.interrupt(fiber)
      assert.isTrue(yield* isGone(pid))
    })
  )

  live(
    "and each member of a group has its own",
    Effect.gen(function*() {
      const pids: Array<string> = []
      const servers = EnvGroupBuilder.make({
        key: "servers",
        size: 3,
        makeEnv: () =>
          Effect.flatMap(tools("pid"), (tools) =>
            ToolEnv.make({
              model: { renderer: Agent.renderer("pid", undefined) },
              tools,
              messages: [Message.user("which?")],
              grade: (messages) => Effect.sync(() => ({ reward: pids.push(messages.map(Message.text).at(-2) ?? "") }))
            }))
      })
      const result = yield* Rollout.group(servers, Agent.policy)
      assert.strictEqual(result._tag, "Completed")
      assert.strictEqual(new Set(pids).size, 3)
      assert.deepStrictEqual(yield* Effect.forEach(pids, isGone), [true, true, true])
    })
  )
})

describe("a server over HTTP", () => {
  const Double = Tool.make("double", {
    description: "Doubles a number.",
    parameters: Schema.Struct({ n: Schema.Int }),
    success: Schema.String
  })
  const kit = Toolkit.make(Double)
  const authorized: Array<string | undefined> = []
  const listening = () =>
    createServer({ keepAliveTimeout: 0 }).on("request", ({ headers }) => authorized.push(headers.authorization))
  const served = HttpRouter.serve(
    McpServer.layerHttp({
      name: "doubling",
      version: "1",
      path: "/mcp",
      protocols: [McpProtocol.v2025_11_25],
      registrations: Layer.provide(
        McpServer.toolkit(kit),
        kit.toLayer({ double: ({ n }) => Effect.succeed(String(2 * n)) })
      )
    }),
    { disableLogger: true, disableListenLog: true }
  ).pipe(Layer.provideMerge(NodeHttpServer.layer(listening, { host: "127.0.0.1", port: 0 })))

  it.live("offers the same tools as a server over stdio", () =>
    Effect.gen(function*() {
      const { address } = yield* HttpServer.HttpServer
      const url = `${HttpServer.formatAddress(address)}/mcp`
      const headers = { authorization: Redacted.make("Bearer secret"), "x-test": "1" }
      const [double] = yield* McpTools.http(url, { name: "doubling", allow: ["double"], headers })
      assert.strictEqual(double?.spec.description, "Doubles a number.")
      const all = yield* McpTools.http(url, { name: "doubling", allow: "all", headers })
      assert.deepStrictEqual(all.map(({ spec }) => spec.name), ["double"])
      assert.deepStrictEqual(yield* double?.call(`{"n": 4}`) ?? Effect.die("no tool"), { content: "8" })
      assert.deepStrictEqual([...new Set(authorized)], ["Bearer secret"])
      const gone = McpTools.http(`${url}/no`, { name: "gone", allow: [] })
      assert.include((yield* Effect.flip(gone)).message, `MCP server "gone": not connected: MCP HTTP status 404`)
    }).pipe(Effect.scoped, Effect.provide([served, FetchHttpClient.layer])))
})

describe("unusable servers and tools are refused on connection", () => {
  const refusal = <E extends { readonly message: string }>(
    tools: Effect.Effect<unknown, E, ChildProcessSpawner.ChildProcessSpawner | Scope.Scope>
  ) => Effect.map(Effect.flip(Effect.scoped(tools)), ({ message }) => message)

  live(
    "a tool that is not there",
    Effect.gen(function*() {
      const message = yield* refusal(tools("add", "subtract"))
      assert.include(message, `MCP server "little": allow has "subtract", expected one of: add, pid, die`)
    })
  )

  live(
    "a schema that cannot be checked",
    Effect.gen(function*() {
      assert.include(yield* refusal(tools("odd")), `arguments of "odd" cannot be checked, leave it out of allow`)
    })
  )

  live(
    "a schema that refers to itself",
    Effect.gen(function*() {
      for (const name of ["endless0", "endless1", "endless2"]) {
        assert.include(
          yield* refusal(tools(name)),
          `arguments of "${name}" cannot be checked, leave it out of allow: Error: the definition "node" refers to itself`
        )
      }
    })
  )

  const unusable = {
    mutual: `the definition "node" refers to itself`,
    escaped: `the definition "a~1b" refers to itself`,
    encoded: `the definition "a b" refers to itself`,
    within: `the definition "node/anyOf/0" refers to itself`,
    doubling: `the definition "13" has more than 10000 alternatives`,
    chain: `the definition "100" is in a chain of more than 100 references`,
    deep: `the schema has more than 100 levels`,
    large: `the schema has 7388951 characters, expected at most 262144`
  }

  for (const [name, problem] of Object.entries(unusable)) {
    live(
      `a schema that takes too long to check: ${name}`,
      Effect.gen(function*() {
        const hostile = ChildProcess.make(process.execPath, [join(import.meta.dirname, "server.mjs"), name])
        const message = yield* refusal(McpTools.stdio(hostile, { name: "hostile", allow: [name] }))
        assert.include(message, `arguments of "${name}" cannot be checked, leave it out of allow: Error: `)
        assert.include(message, problem)
      })
    )
  }

  it.effect("a server whose line does not end", () =>
    Effect.gen(function*() {
      const exit = yield* Deferred.make<ChildProcessSpawner.ExitCode>()
      const stdout = Stream.forever(Stream.make(new Uint8Array(2 ** 20).fill(97)))
      const flooding = ChildProcessSpawner.make(() =>
        Effect.succeed(ChildProcessSpawner.makeHandle({
          pid: ChildProcessSpawner.ProcessId(1),
          exitCode: Deferred.await(exit),
          isRunning: Effect.succeed(true),
          kill: () => Effect.void,
          stdin: Sink.onExit(Sink.drain, () => Deferred.succeed(exit, ChildProcessSpawner.ExitCode(0))),
          stdout,
          stderr: Stream.empty,
          all: stdout,
          getInputFd: () => Sink.drain,
          getOutputFd: () => Stream.empty,
          unref: Effect.succeed(Effect.void)
        }))
      )
      const message = yield* refusal(tools("add")).pipe(
        Effect.provideService(ChildProcessSpawner.ChildProcessSpawner, flooding)
      )
      assert.strictEqual(message, `MCP server "little": not connected: MCP message exceeds maxMessageBytes`)
    }))

  live(
    "a server that does not start, or leaves at once",
    Effect.gen(function*() {
      const missing = ChildProcess.make("/no/such/server", [])
      assert.include(yield* refusal(McpTools.stdio(missing, { name: "none", allow: [] })), `"none": not connected`)
      const leaving = ChildProcess.make(process.execPath, ["--eval", ""])
      assert.include(yield* refusal(McpTools.stdio(leaving, { name: "gone", allow: [] })), `"gone": not connected`)
    })
  )
})
