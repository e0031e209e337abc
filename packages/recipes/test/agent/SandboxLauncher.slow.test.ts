import { type AgentEnv, AgentGateway, Launcher } from "@effect-rl/agent"
import { Rollout } from "@effect-rl/core"
import { SandboxLauncher } from "@effect-rl/recipes"
import { Sandbox, SandboxFiles } from "@effect-rl/sandbox"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Fiber, FileSystem, Layer, Schedule } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { createServer } from "node:http"
import * as Talk from "../../../agent/test/episode/Talk.ts"
import * as Providers from "../code/Providers.ts"

const lacks = Providers.all.find(({ name }) => name === "bubblewrap")?.lacks

/** An agent that asks its model once, tries to reach other addresses, and prints what worked. */
const agent = `
import { connect } from "node:net"
import { lookup } from "node:dns/promises"
import { readdirSync } from "node:fs"
import { spawn } from "node:child_process"

const { OPENAI_API_KEY: key, OPENAI_BASE_URL: url } = process.env
const [other, marker] = process.argv.slice(2)

const ask = (url) =>
  fetch(url + "/chat/completions", {
    method: "POST",
    headers: { authorization: "Bearer " + key, "content-type": "application/json" },
    body: JSON.stringify({ model: "${Talk.name}", messages: [{ role: "user", content: "what?" }] })
  })
const reaches = (options) => new Promise((resolve) => {
  const socket = connect({ timeout: 2000, ...options })
  const say = (answer) => () => { socket.destroy(); resolve(answer) }
  socket.on("connect", say(true)).on("error", say(false)).on("timeout", say(false))
})

const answer = await (await ask(url)).json()
spawn("sh", ["-c", "sleep 600; : " + marker], { detached: true, stdio: "ignore" }).unref()
console.log(JSON.stringify({
  answer: answer.choices[0].message.content,
  otherSession: (await ask(url.replace(/s\\/[^/]+/, "s/" + "x".repeat(32)))).status,
  otherPort: await reaches({ host: "127.0.0.1", port: Number(other) }),
  otherMachine: await reaches({ host: "192.0.2.1", port: 80 }),
  name: await lookup("example.org").then(() => true, () => false),
  files: readdirSync(".")
}))
if (answer.choices[0].message.content === "wait") await new Promise(() => setInterval(() => {}, 1000))
process.exit(3)
`

/** A launcher of programs in any language, each of which gets a copy of its folder. */
const anyFolder = () =>
  SandboxLauncher.layer({}).pipe(
    Layer.provide([Sandbox.Sandbox.layerBubblewrap(), server]),
    Layer.provideMerge(NodeServices.layer)
  )

const server = NodeHttpServer.layer(() => createServer(), { host: "127.0.0.1", port: 0 })

const inSandbox = SandboxLauncher.layer({
  runtime: "node",
  files: SandboxFiles.make({ "agent.mjs": agent }),
  limits: { wall: "2 minutes", memory: 2 ** 30, processes: 32 }
})

const services = Layer.merge(AgentGateway.AgentGateway.layer, inSandbox).pipe(
  Layer.provide(Sandbox.Sandbox.layerBubblewrap()),
  Layer.provide([server, NodeServices.layer])
)

/** A server on this machine that is not the gateway, and its port. */
const otherServer = Effect.map(
  Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const server = createServer((_, response) => response.end())
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => server.close())
  ),
  (server) => {
    const address = server.address()
    return String(typeof address === "object" && address !== null ? address.port : 0)
  }
)

const played = Effect.fnUntraced(function*<E = never, R = never>(
  run: AgentEnv.Options<E, R>["run"],
  ...texts: ReadonlyArray<string>
) {
  const model = yield* Talk.modelOf("qwen3_instruct")
  const env = yield* AgentGateway.env<E, R>({ model, run })
  return yield* Rollout.episode(env, Talk.saying(...texts).policy, Talk.key)
}, Effect.scoped)

/** Processes on this machine whose command line contains a text. */
const running = (text: string) =>
  readdirSync("/proc").filter((name) => /^\d+$/.test(name)).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(text)
    } catch {
      return false
    }
  })

const untilRunning = (text: string) =>
  Effect.suspend(() => Effect.succeed(running(text).length)).pipe(
    Effect.delay("100 millis"),
    Effect.repeat({ until: (count) => count > 0 })
  )

/** Waits until no process has this text in its command line. The kernel ends a sandbox's other processes shortly after the first. */
const untilGone = (text: string) =>
  Effect.suspend(() => Effect.succeed(running(text))).pipe(
    Effect.repeat({ until: (pids) => pids.length === 0, schedule: Schedule.spaced("50 millis") }),
    Effect.timeout("10 seconds")
  )

describe.skipIf(lacks !== undefined)(
  `an agent in bubblewrap${lacks === undefined ? "" : ` (skipped: ${lacks})`}`,
  () => {
    layer(services, { excludeTestServices: true })((it) => {
      it.effect("reaches its session and nothing else, and leaves no process behind", () =>
        Effect.gen(function*() {
          const port = yield* otherServer
          const marker = "left-behind-by-an-agent"
          const said: Array<Launcher.Ended> = []
          const { stepReward, transitions } = yield* played(
            Effect.fnUntraced(function*({ env }) {
              const { run } = yield* Launcher.Launcher
              said.push(yield* run({ argv: ["node", "agent.mjs", port, marker], env }))
              return 1
            }),
            "42"
          )
          assert.strictEqual(stepReward, 1)
          assert.lengthOf(transitions, 1)
          assert.deepStrictEqual(said.map(({ exitCode, stderr }) => ({ exitCode, stderr })), [{
            exitCode: 3,
            stderr: ""
          }])
          assert.deepStrictEqual(JSON.parse(said[0]?.stdout ?? ""), {
            answer: "42",
            otherSession: 404,
            otherPort: false,
            otherMachine: false,
            name: false,
            files: ["agent.mjs"]
          })
          yield* untilGone(marker)
        }).pipe(Effect.scoped))

      it.effect("ends with all its processes when it is interrupted", () =>
        Effect.gen(function*() {
          const marker = "left-behind-by-an-interrupted-agent"
          const fiber = yield* Effect.forkChild(played(
            Effect.fnUntraced(function*({ env }) {
              const { run } = yield* Launcher.Launcher
              yield* run({ argv: ["node", "agent.mjs", "1", marker], env })
              return 1
            }),
            "wait"
          ))
          yield* untilRunning(marker)
          yield* Fiber.interrupt(fiber)
          yield* untilGone(marker)
        }))

      it.effect("starts in a copy of its folder, and cannot change the original", () =>
        Effect.gen(function*() {
          const fs = yield* FileSystem.FileSystem
          const folder = yield* fs.makeTempDirectoryScoped()
          yield* fs.makeDirectory(`${folder}/lib`)
          yield* fs.writeFileString(`${folder}/lib/answer.py`, "answer = 42")
          yield* fs.writeFileString(
            `${folder}/agent.py`,
            "from lib.answer import answer\nprint(answer)\nopen('agent.py', 'w')"
          )
          const { run } = yield* Launcher.Launcher
          for (const _ of ["first", "second"]) {
            const ended = yield* run({ argv: ["python3", "agent.py"], env: {}, cwd: folder })
            assert.deepStrictEqual(ended, { exitCode: 0, stdout: "42\n", stderr: "" })
          }
          const error = yield* Effect.flip(run({ argv: ["sh"], env: {}, cwd: `${folder}/nowhere` }))
          assert.include(error.message, `the folder ${folder}/nowhere cannot be copied`)
        }).pipe(Effect.scoped, Effect.provide(anyFolder())))
    })
  }
)

describe("a launcher in a sandbox that does not support named networks", () => {
  it.effect("is refused, with the network that the provider supports", () =>
    Effect.gen(function*() {
      const scripted = Sandbox.Sandbox.layerScripted({ run: () => Effect.die("no program runs") })
      const error = yield* Effect.flip(
        Layer.build(inSandbox).pipe(Effect.scoped, Effect.provide([scripted, server, NodeServices.layer]))
      )
      assert.include(error.message, "the network of this provider is \"none\"")
    }))
})
