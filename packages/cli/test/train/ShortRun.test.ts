import * as ShortRun from "@effect-rl/cli/train/ShortRun"
import { Recipes } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger } from "effect"

const saidOf = Effect.fnUntraced(function*(recipe: typeof Recipes.all[number], model: string) {
  const said: Array<string> = []
  const logger = Logger.make<unknown, void>(({ message }) => void said.push(String(message)))
  yield* Effect.provide(ShortRun.say(recipe, model), Logger.layer([logger]))
  return said.join("\n")
})

describe("A short run on the engine", () => {
  it.effect("says what to expect from the models that the recipe supports, and nothing about others", () =>
    Effect.gen(function*() {
      assert.include(yield* saidOf(Recipes.gsm8k, "effect-rl/tiny-128"), "it will not learn")
      assert.include(yield* saidOf(Recipes.gsm8k, "smollm2"), "rewards will hardly change")
      assert.strictEqual(yield* saidOf(Recipes.gsm8k, "Qwen/Qwen3-8B"), "")
      assert.strictEqual(yield* saidOf(Recipes.arithmetic, "smollm2"), "")
    }))
})
