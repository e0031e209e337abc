/** Tool servers that run beside the commands of an episode, each as a started process in the model's sandbox. */
import { HarborTask, type ShellTask } from "@effect-rl/recipes"
import { Sandbox, SandboxFiles } from "@effect-rl/sandbox"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Exit, Layer } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import * as Providers from "../code/Providers.ts"
import * as Terminal from "./Terminal.ts"

const lacks = Providers.all.find(({ name }) => name === "bubblewrap")?.lacks

const title = `MCP servers in bubblewrap${lacks === undefined ? "" : ` (skipped: ${lacks})`}`

const folder = new URL("../fixtures/harbor-servers", import.meta.url).pathname

const call = (name: string, args: Readonly<Record<string, string>> = {}) =>
  `<tool_call>\n${JSON.stringify({ name, arguments: args })}\n</tool_call>`

const task = Effect.flatMap(HarborTask.readAll(folder), ([first]) => Effect.fromNullishOr(first))

const served = (command: ShellTask.ShellServer["command"]) =>
  Terminal.task("exit 0", { servers: [{ name: "broken", command }] })

const told = (transitions: ReadonlyArray<{ readonly logs: Readonly<Record<string, unknown>> }>) =>
  transitions.flatMap(({ logs }) => logs["tool_result_0"] ?? []).map(String)

/** Processes on this machine that run the server. */
const servers = () =>
  readdirSync("/proc").filter((name) => /^\d+$/.test(name)).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith("python3\0tickets.py")
    } catch {
      return false
    }
  })

describe.skipIf(lacks !== undefined)(title, { concurrent: false }, () => {
  layer(Layer.merge(Sandbox.Sandbox.layerBubblewrap(), NodeServices.layer), { excludeTestServices: true })((it) => {
    it.effect("keep their state during an episode, see its files, and end with it", () =>
      Effect.gen(function*() {
        const { stepReward, transitions } = yield* Terminal.play(
          { task: yield* task },
          call("next_ticket"),
          call("next_ticket"),
          Terminal.command("printf '7\\n8\\n' > tickets.txt"),
          call("length", { path: "tickets.txt" })
        )
        assert.deepStrictEqual(told(transitions).map((said) => said.replace(/^\{.*$/, "")), ["7", "8", "", "4"])
        assert.strictEqual(stepReward, 1)
        assert.deepStrictEqual(servers(), [])
      }))

    it.effect("run once for each group member that plays at the same time", () =>
      Effect.gen(function*() {
        const found = yield* task
        const members = yield* Effect.forEach(
          [1, 2, 3, 4],
          () => Terminal.play({ task: found }, call("next_ticket"), call("next_ticket")),
          { concurrency: 4 }
        )
        assert.deepStrictEqual(members.map(({ transitions }) => told(transitions)), Array(4).fill(["7", "8"]))
        assert.deepStrictEqual(servers(), [])
      }))

    it.effect("give the model an error if they end during a call, and commands still work", () =>
      Effect.gen(function*() {
        const { stepReward, transitions } = yield* Terminal.play(
          { task: yield* task },
          call("leave"),
          call("next_ticket"),
          Terminal.command("printf '7\\n8\\n' > tickets.txt")
        )
        for (const said of told(transitions).slice(0, 2)) assert.match(said, /^\{"error": "MCP /)
        assert.strictEqual(stepReward, 1)
      }))

    it.effect("reach neither the tests nor files of the machine", () =>
      Effect.gen(function*() {
        const found = yield* task
        const { transitions } = yield* Terminal.play(
          { task: { ...found, files: [...found.files, ...SandboxFiles.make({ "given.txt": "given" })] } },
          call("length", { path: "given.txt" }),
          call("length", { path: "/tests/test.sh" }),
          call("length", { path: "/etc/passwd" })
        )
        const missing = "{\"error\": \"No such file or directory\"}"
        assert.deepStrictEqual(told(transitions), ["5", missing, missing])
      }))

    it.effect.each([
      { what: "that does not exist", command: ["no-such-server"] as const },
      { what: "that exits at once", command: ["true"] as const },
      { what: "that does not speak MCP", command: ["echo", "hello"] as const }
    ])("leave a member ungraded: a server $what", ({ command }) =>
      Effect.gen(function*() {
        const exit = yield* Effect.exit(Terminal.play({ task: served(command) }))
        assert.isTrue(Exit.hasDies(exit))
        assert.include(String(exit), "MCP server \"broken\": not connected")
      }))
  })
})
