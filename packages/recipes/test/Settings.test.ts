/** Settings of recipes: their defaults, whether a resumed run must have the same value, and their names. */
import { Setting } from "@effect-rl/core"
import { Recipe, Recipes, TrainingSettings } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { expect } from "vitest"

const described = ({ name, settings: { fields } }: { readonly name: string; readonly settings: Setting.Struct }) =>
  Object.entries(fields).map(([key, field]) => {
    const setting = Setting.of(field)
    const value = setting?.default === undefined ? "left out" : JSON.stringify(setting.default)
    return `${name}.${key}: ${value}${setting?.identity === true ? ", identity" : ""}`
  })

it("recipes keep the defaults of their settings and the set of settings that identify a run", async () => {
  const lines = [...Recipes.all, ...Recipes.pipelines].flatMap(described)
  await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot("./settings.txt")
})

const training = TrainingSettings.fields({
  model: "effect-rl/tiny-64",
  iterations: 1,
  groupsPerBatch: 1,
  groupSize: 2,
  learningRate: 1e-3,
  maxTokens: 8,
  evalEvery: 0
})

const configured = <S extends Schema.Decoder<Recipe.BaseSettings> & Setting.Struct>(settings: S) =>
  Recipe.make({
    name: "own",
    description: "A recipe with its own settings",
    settings,
    build: () => Effect.never
  }).configure({})

describe("a recipe whose own setting has the name of a training setting", () => {
  it.effect("is refused if it is another setting", () =>
    Effect.gen(function*() {
      const beta = Setting.number({ default: 0.01, least: 0, help: "Weight of unlikely tokens" })
      const { message } = yield* Effect.flip(configured(Schema.Struct({ ...training, beta })))
      assert.strictEqual(
        message,
        "beta is a setting of the recipe's own, expected a setting with another name: every recipe with training settings has " +
          "beta (Weight of dro's quadratic term (0.05 unless given))"
      )
    }))

  it.effect("is accepted if only its default or its help differs", () =>
    Effect.gen(function*() {
      const groupSize = Setting.withHelp(Setting.withDefault(training.groupSize, 4), "Answers to each problem")
      const lengthPenalty = Setting.withDefault(training.lengthPenalty, 0.1)
      yield* configured(Schema.Struct({ ...training, groupSize, lengthPenalty }))
    }))
})
