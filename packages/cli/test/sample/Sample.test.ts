import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import * as CommandLine from "../CommandLine.ts"

const { run, runFolder, runWithInput, short } = CommandLine

const tiny = ["--model", "effect-rl/tiny-64", "--max-tokens", "16"] as const

const json = (out: ReadonlyArray<string>): ReadonlyArray<Readonly<Record<string, unknown>>> =>
  out.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line))

describe("effect-rl sample", () => {
  it.effect("answers as often as asked, and the same again with the same seed", () =>
    Effect.gen(function*() {
      const command = ["sample", "What is 2 + 3?", "--n", "3", "--json", ...tiny] as const
      const [first, again] = [yield* run(...command), yield* run(...command)]
      const answers = json(first.out)
      assert.deepStrictEqual(answers.map(({ index, type }) => [type, index]), [["sample", 0], ["sample", 1], [
        "sample",
        2
      ]])
      // What a test prints adds up.
      assert.deepStrictEqual(json(again.out).slice(3), answers)
      const other = json((yield* run(...command, "--seed", "1")).out).slice(6)
      assert.notDeepEqual(other.map(({ text }) => text), answers.map(({ text }) => text))
    }))

  it.effect("samples from the newest checkpoint of a run", () =>
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
  it.effect("answers each line in the conversation so far, and forgets it at /reset", () =>
    Effect.gen(function*() {
      const lines = "What is 2 + 3?\nAnd 4 + 4?\n/reset\nWhat is 2 + 3?\n"
      const { exit, out } = yield* runWithInput(lines, "chat", "--json", ...tiny)
      assert.isTrue(Exit.isSuccess(exit))
      const answers = json(out).map(({ text }) => text)
      assert.strictEqual(answers.length, 3)
      assert.strictEqual(answers[2], answers[0])
    }))
})
