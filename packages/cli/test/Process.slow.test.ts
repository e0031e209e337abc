/** Tests the command in its own process: exit codes, signals and closed pipes. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as CommandLine from "./CommandLine.ts"
import { type Act, bin, launch } from "./Launch.ts"

const { runFolder, short } = CommandLine

describe("the process", () => {
  it.live("ends with 0 after a run, and with 1 and a one-line remedy after a mistake", () =>
    Effect.gen(function*() {
      const good = yield* launch([...short, "--iterations", "1", "--log-path", yield* runFolder])
      assert.deepStrictEqual([good.code, good.errors], [0, ""])
      assert.notInclude(good.out, "stopping")
      const bad = yield* launch(["train", "arithmetic", "--model", "effect-rl/tiny-12", "--log-path", yield* runFolder])
      assert.strictEqual(bad.code, 1)
      assert.strictEqual(
        bad.errors,
        "error: --model \"effect-rl/tiny-12\" is not a model of the backend \"engine\": did you mean \"effect-rl/tiny-128\"? " +
          "Choose from: effect-rl/tiny-64, effect-rl/tiny-128, effect-rl/tiny-tasks, effect-rl/tiny-code, effect-rl/tiny-tools, effect-rl/tiny-questions\n"
      )
    }))

  const modules: ReadonlyArray<readonly [fault: string, file: string, text: string, message: string]> = [
    [
      "an ES module in a CommonJS project",
      "task.ts",
      "import { Recipe } from \"@effect-rl/recipes\"\nexport default Recipe\n",
      "its package.json says that it is CommonJS, but it is an ES module: run \"npm pkg set type=module\" there, or rename"
    ],
    ["a module of CommonJS, which exports no recipe", "task.js", "module.exports = 1\n", "it has no default export"],
    [
      "a mistake in TypeScript",
      "task.mts",
      "const recipe = (\n  1 +\nexport default recipe\n",
      "task.mts:3: Expression expected"
    ],
    ["a mistake in JavaScript", "task.mjs", "const recipe =\n\n) 1\n", "Unexpected token ')'"],
    ["an import of nothing", "task.mts", "import \"./other.ts\"\n", "Cannot find module "]
  ]

  it.live.each(modules)(
    "says on one line what is wrong with a recipe's module: %s",
    ([, name, text, message]) =>
      Effect.gen(function*() {
        const folder = yield* runFolder
        mkdirSync(folder, { recursive: true })
        writeFileSync(join(folder, "package.json"), "{\"type\":\"commonjs\"}")
        const file = join(folder, name)
        writeFileSync(file, text)
        const { code, errors } = yield* launch(["train", file])
        assert.strictEqual(code, 1)
        assert.match(errors, /^error: [^\n]*\n$/)
        assert.include(errors, message)
      })
  )

  it.live("saves when interrupted, says how to resume, ends with 130 and resumes", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      const args = (iterations: number) => [
        ...short,
        "--iterations",
        String(iterations),
        "--interrupt-timeout",
        "90 seconds",
        "--log-path",
        folder
      ]
      const interrupted = yield* launch(args(40_000), { acts: [{ when: "iteration     3/40000", act: "SIGINT" }] })
      assert.strictEqual(interrupted.code, 130)
      const hint = `what is saved is kept in ${folder}: run the same command again to continue from there`
      assert.match(
        interrupted.out,
        /\nstopping: work in progress is finished and saved, for 1m 30s at most[^]*\nsaved after/
      )
      assert.include(interrupted.out, hint)
      const checkpoints = readFileSync(`${folder}/checkpoints.jsonl`, "utf8").trimEnd().split("\n")
      const { batch } = JSON.parse(checkpoints.at(-1) ?? "")
      const resumed = yield* launch(args(40_001), { acts: [{ when: "resuming", act: "SIGINT" }] })
      assert.include(resumed.out, `resuming the run in ${folder} after ${batch} of 40001 iterations`)
    }))

  it.live.each([["SIGTERM", 143], ["SIGHUP", 129], ["SIGQUIT", 131]] as const)(
    "saves on %s, and ends with %i",
    ([signal, code]) =>
      Effect.gen(function*() {
        const folder = yield* runFolder
        const args = [...short, "--iterations", "40000", "--log-path", folder]
        const ended = yield* launch(args, { acts: [{ when: "iteration     2/40000", act: signal }] })
        assert.strictEqual(ended.code, code)
        assert.include(ended.out, "saved after")
        assert.notStrictEqual(readFileSync(`${folder}/checkpoints.jsonl`, "utf8"), "")
      })
  )

  it.live("ends at once on a second Ctrl-C if the first one waits for work that does not end", () =>
    Effect.gen(function*() {
      const recipe = fileURLToPath(new URL("./stuck-recipe.ts", import.meta.url))
      const args = ["train", recipe, "--backend", "mock", "--log-path", yield* runFolder]
      const acts: ReadonlyArray<Act> = [
        { when: "stuck", act: "SIGINT" },
        { when: "Ctrl-C again ends at once", act: "SIGINT", untilEnded: true }
      ]
      const { code, errors } = yield* launch(args, { acts })
      assert.deepStrictEqual([code, errors], [130, "ended at once: anything not saved yet is lost\n"])
    }))

  it.live("continues after a Ctrl-C that ends one piece of its work, and ends at the next", () =>
    Effect.gen(function*() {
      const program = fileURLToPath(new URL("./ctrl-c.ts", import.meta.url))
      const acts: ReadonlyArray<Act> = [
        { when: "working", act: "SIGINT" },
        { when: "went on", act: "SIGINT", untilEnded: true }
      ]
      const { code, errors, out } = yield* launch([], { program, acts })
      assert.deepStrictEqual([code, errors, out], [130, "", "working\nwent on\nsaved\n"])
    }))

  it.live.skipIf(!existsSync("/dev/full"))(
    "says that its output cannot be written",
    () =>
      Effect.gen(function*() {
        const folder = yield* runFolder
        const full = openSync("/dev/full", "w")
        const args = [...short, "--iterations", "40000", "--log-path", folder]
        const { status, stderr } = spawnSync(process.execPath, ["--conditions=@effect-rl/source", bin, ...args], {
          stdio: ["ignore", full, "pipe"],
          encoding: "utf8"
        })
        closeSync(full)
        assert.strictEqual(status, 1)
        assert.match(stderr, /^error: cannot write to standard output: ENOSPC: no space left on device, write\n$/)
      })
  )

  it.live("saves its state when its output is closed", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      const args = [...short, "--iterations", "40000", "--log-path", folder]
      const { errors } = yield* launch(args, { acts: [{ when: "iteration     2/40000", act: "close output" }] })
      assert.strictEqual(errors, "")
      assert.include(readFileSync(`${folder}/run.log`, "utf8"), "what is saved is kept in")
      assert.notStrictEqual(readFileSync(`${folder}/checkpoints.jsonl`, "utf8"), "")
    }))

  it.live("reads answers from a pipe, and ends when its input ends", () =>
    Effect.gen(function*() {
      const won = yield* launch(["play", "guess-number"], { input: "Guess: 16\nGuess: 24\nand more\n" })
      assert.deepStrictEqual([won.code, won.errors], [0, ""])
      assert.include(won.out, "reward 1.00 after 2 turns, completed")
      const left = yield* launch(["play", "guess-number"], { input: "Guess: 16\n" })
      assert.deepStrictEqual([left.code, left.errors], [0, ""])
      assert.include(left.out, "left after 1 turn: the input has ended")
    }))

  it.live("ends with 130 when a player interrupts it, and does not wait for more input", () =>
    Effect.gen(function*() {
      const interrupted = yield* launch(["play", "arithmetic"], { acts: [{ when: "What is", act: "SIGINT" }] })
      assert.deepStrictEqual([interrupted.code, interrupted.errors], [130, ""])
    }))

  it.live("prints colours only if asked to, and never with NO_COLOR", () =>
    Effect.gen(function*() {
      const args = [...short, "--iterations", "1", "--log-path"]
      const coloured = yield* launch([...args, yield* runFolder], { env: { FORCE_COLOR: "1", NO_COLOR: "" } })
      assert.include(coloured.out, "\u001b[1m")
      const plain = yield* launch([...args, yield* runFolder], { env: { FORCE_COLOR: "1", NO_COLOR: "1" } })
      assert.notInclude(plain.out, "\u001b")
    }))

  it.live("trains on the engine", () =>
    Effect.gen(function*() {
      const args = [
        "train",
        "arithmetic",
        "--model",
        "effect-rl/tiny-64",
        "--iterations",
        "2",
        "--groups-per-batch",
        "4",
        "--eval-every",
        "0"
      ]
      const folder = yield* runFolder
      const { code, errors, out } = yield* launch([...args, "--log-path", folder])
      assert.deepStrictEqual([code, errors], [0, ""])
      assert.include(out, "iteration 2/2")
      assert.include(readFileSync(`${folder}/checkpoints.jsonl`, "utf8"), "final")
    }))
})
