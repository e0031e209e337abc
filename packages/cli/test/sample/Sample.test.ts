import * as CtrlC from "@effect-rl/cli/CtrlC"
import * as Untrusted from "@effect-rl/cli/terminal/Untrusted"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, FileSystem, Layer, Path, Terminal } from "effect"
import * as CommandLine from "../CommandLine.ts"

const { run, runFolder, runOn, runWithInput, short } = CommandLine

const tiny = ["--model", "effect-rl/tiny-64", "--max-tokens", "16"] as const

/** Flags with so high a temperature that no answer ends soon. */
const rambling = ["--model", "effect-rl/tiny-64", "--max-tokens", "200", "--temperature", "100"] as const

interface Told {
  readonly type: string
  readonly index: number
  readonly text: string
  readonly message: { readonly content: string }
}

const json = (out: ReadonlyArray<string>): ReadonlyArray<Told> =>
  out.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line))

describe("effect-rl sample", () => {
  it.effect("gives as many answers as requested, and the same answers for the same seed", () =>
    Effect.gen(function*() {
      const command = ["sample", "What is 2 + 3?", "--n", "3", "--json", ...tiny] as const
      const [first, again] = [yield* run(...command), yield* run(...command)]
      const answers = json(first.out)
      assert.deepStrictEqual(answers.map(({ index, type }) => [type, index]), [["sample", 0], ["sample", 1], [
        "sample",
        2
      ]])
      // The test console collects the output of all commands so far.
      assert.deepStrictEqual(json(again.out).slice(3), answers)
      const ctrlC = Effect.provideService(
        run(...command, "--seed", "1"),
        CtrlC.CtrlC,
        Effect.die("leaves Ctrl-C alone")
      )
      const other = json((yield* ctrlC).out).slice(6)
      assert.notDeepEqual(other.map(({ text }) => text), answers.map(({ text }) => text))
    }))

  it.effect("reports the engine's compute threads on one plain line, but prints only records with --json", () =>
    Effect.gen(function*() {
      const plain = yield* run("sample", "What is 2 + 3?", ...tiny)
      assert.match(plain.out[0] ?? "", /^engine: \d+ compute threads?, /)
      const { out } = yield* run("sample", "What is 2 + 3?", "--json", ...tiny)
      assert.deepStrictEqual(out.slice(plain.out.length).filter((line) => !line.startsWith("{")), [])
    }))

  it.effect("prompts the model as a recipe does, also for a user's module", () =>
    Effect.gen(function*() {
      const recipe = new URL("../train/own-renderer-recipe.ts", import.meta.url).pathname
      const sampled = ["sample", "hi", "--json", "--max-tokens", "8"]
      const own = json((yield* run(...sampled, "--recipe", recipe)).out)
      const [plain] = json((yield* run(...sampled, "--model", "effect-rl/tiny-64")).out).slice(1)
      assert.lengthOf(own, 1)
      assert.notStrictEqual(own[0]?.text, plain?.text)
      const { errors } = yield* run("chat", "--recipe", "./nowhere.ts")
      assert.include(errors.at(-1), "./nowhere.ts is not a recipe: ")
    }))

  it.effect("samples from a run's newest checkpoint", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      const engine = short.map((arg) => arg === "mock" ? "engine" : arg)
      yield* run(...engine, "--model", "effect-rl/tiny-64", "--iterations", "1", "--log-path", folder)
      const { exit, out } = yield* run("sample", "What is 2 + 3?", "--checkpoint", folder, "--max-tokens", "16")
      assert.isTrue(Exit.isSuccess(exit))
      assert.isTrue(out.some((line) => /^1: \d+ tokens/.test(line)))
    }))
})

describe("effect-rl chat", () => {
  it.effect("answers each line in the conversation so far, and clears it at /reset", () =>
    Effect.gen(function*() {
      const lines = "What is 2 + 3?\nAnd 4 + 4?\n/reset\nWhat is 2 + 3?\n"
      const { exit, out } = yield* runWithInput(lines, "chat", "--json", ...tiny)
      assert.isTrue(Exit.isSuccess(exit))
      const answers = json(out).map(({ text }) => text)
      assert.strictEqual(answers.length, 3)
      assert.strictEqual(answers[2], answers[0])
    }))

  it.effect("prints an answer piece by piece during sampling", () =>
    Effect.gen(function*() {
      const displayed: Array<string> = []
      const told = yield* runOn(CommandLine.displayTo(displayed, 80))("What is 2 + 3?\n", "chat", ...rambling)
      assert.isTrue(Exit.isSuccess(told.exit))
      const { out } = yield* runWithInput("What is 2 + 3?\n", "chat", "--json", ...rambling)
      const [answer] = json(out)
      assert.isAbove(displayed.length, 3)
      assert.strictEqual(displayed.join(""), `${Untrusted.showLines(answer?.message.content ?? "")}\n`)
    }))

  it.effect("keeps the conversation when Ctrl-C ends an answer, then continues and saves it", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const file = path.join(yield* fs.makeTempDirectoryScoped(), "talk.json")
      const begun = yield* Deferred.make<void>()
      const terminal = Layer.effect(
        Terminal.Terminal,
        Effect.map(
          Terminal.Terminal,
          (terminal) => Terminal.make({ ...terminal, display: () => Effect.asVoid(Deferred.succeed(begun, undefined)) })
        )
      ).pipe(Layer.provide(NodeServices.layer))
      const { exit, out } = yield* runOn(terminal)(
        "What is 2 + 3?\nAnd 4 + 4?\n",
        "chat",
        ...rambling,
        "--save",
        file
      ).pipe(Effect.provideService(CtrlC.CtrlC, Deferred.await(begun)))
      assert.isTrue(Exit.isSuccess(exit))
      assert.deepStrictEqual(out.slice(-2), ["(interrupted)", "(interrupted)"])
      const saved = JSON.parse(yield* fs.readFileString(file))
      assert.deepStrictEqual(saved.messages.map(({ role }: { readonly role: string }) => role), [
        "user",
        "assistant",
        "user",
        "assistant"
      ])
      assert.isAbove(saved.messages[1].content.length, 0)
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("continues a conversation from a file, with its tools", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const folder = yield* fs.makeTempDirectoryScoped()
      const [from, to] = [path.join(folder, "from.json"), path.join(folder, "to.json")]
      const begun = [
        { role: "user", content: "What is 2 + 3?" },
        { role: "assistant", content: "5", reasoning_content: "2 and 3 more" }
      ]
      const tools = [{ type: "function", function: { name: "add", description: "Adds.", parameters: {} } }]
      yield* fs.writeFileString(from, JSON.stringify({ messages: begun, tools, reward: 1 }))
      const { exit } = yield* runWithInput("And 4 + 4?\n", "chat", "--json", "--messages", from, "--save", to, ...tiny)
      assert.isTrue(Exit.isSuccess(exit))
      const saved = JSON.parse(yield* fs.readFileString(to))
      assert.deepStrictEqual(saved.messages.slice(0, 3), [...begun, { role: "user", content: "And 4 + 4?" }])
      assert.deepStrictEqual(saved.tools, tools)
      yield* fs.writeFileString(from, "{\"messages\": [{\"role\": 1}]}")
      const refused = yield* runWithInput("", "chat", "--messages", from, ...tiny)
      assert.isTrue(Exit.isFailure(refused.exit))
      assert.match(refused.errors.join(), /--messages .*from\.json: .*messages.*role/s)
    }).pipe(Effect.provide(NodeServices.layer)))
})
