import * as Grid from "@effect-rl/cli/sweep/Grid"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { readdirSync } from "node:fs"
import * as CommandLine from "../CommandLine.ts"

const { run, runFolder, short } = CommandLine

describe("the configurations of a sweep", () => {
  it.effect("are all combinations of the values", () =>
    Effect.gen(function*() {
      const found = yield* Grid.of({ learningRate: "1e-4, 1e-3", loss: "ppo,cispo" }, {})
      assert.deepStrictEqual(found, [
        { name: "learningRate=1e-4,loss=ppo", settings: { learningRate: 1e-4, loss: "ppo" } },
        { name: "learningRate=1e-4,loss=cispo", settings: { learningRate: 1e-4, loss: "cispo" } },
        { name: "learningRate=1e-3,loss=ppo", settings: { learningRate: 1e-3, loss: "ppo" } },
        { name: "learningRate=1e-3,loss=cispo", settings: { learningRate: 1e-3, loss: "cispo" } }
      ])
    }))

  it.effect("have names without slashes", () =>
    Effect.gen(function*() {
      const [first] = yield* Grid.of({ model: "effect-rl/tiny-64,effect-rl/tiny-128" }, {})
      assert.strictEqual(first?.name, "model=effect-rl%2Ftiny-64")
    }))

  it.effect("are refused if a setting has only one value, repeats a value, is also set by its own flag, or is the seed", () =>
    Effect.gen(function*() {
      const refusal = (over: Readonly<Record<string, string>>, given = {}) =>
        Effect.map(Effect.flip(Grid.of(over, given)), ({ message }) => message)
      const expected = "two or more different values, separated by commas"
      assert.strictEqual(yield* refusal({ loss: "ppo" }), `--over loss is ppo, expected ${expected}`)
      assert.strictEqual(yield* refusal({ loss: "ppo,ppo" }), `--over loss is ppo,ppo, expected ${expected}`)
      assert.include(yield* refusal({ loss: "ppo,cispo" }, { loss: "dro" }), "left out where loss is given as well")
      assert.include(yield* refusal({ seed: "1,2" }), "--seeds trains with several seeds")
    }))
})

const sweep = (...args: ReadonlyArray<string>) => {
  const [, recipe = "", ...flags] = short
  return run("sweep", recipe, ...flags, "--iterations", "1", ...args)
}

describe("effect-rl sweep", () => {
  it.effect("refuses an invalid value of a setting before it trains", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      const { errors, exit } = yield* sweep("--over", "loss=ppo,nonsense", "--log-path", folder)
      assert.isTrue(Exit.isFailure(exit))
      assert.include(errors.join("\n"), "nonsense")
      assert.throws(() => readdirSync(folder), /ENOENT/)
    }))
})
