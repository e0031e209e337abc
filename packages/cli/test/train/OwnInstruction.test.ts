import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"
import * as CommandLine from "../CommandLine.ts"

const { run, runFolder } = CommandLine

const recipe = fileURLToPath(new URL("own-instruction.ts", import.meta.url))

describe("a recipe that optimises an instruction", () => {
  it.effect("is run from the command line, and show prints its best instruction", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      yield* run("train", recipe, "--backend", "mock", "--log-path", folder)
      const { out } = yield* run("show", folder)
      const text = out.join("\n")
      assert.include(text, "prompts, effect-rl/tiny-64")
      assert.match(text, /^iterations {2}2 of 2$/m)
      assert.match(text, /^instruction Add(\.|, as proposed in \d\/reflection\/a0\.)$/m)
    }))
})
