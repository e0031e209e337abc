/** A recipe whose environment fails in the second iteration, as if its judge were down. */
import { type EnvGroupBuilder, RLDataset } from "@effect-rl/core"
import { Recipe, TrainingSettings } from "@effect-rl/recipes"
import { Effect, Schema } from "effect"

class JudgeDown extends Schema.TaggedError<JudgeDown>()("JudgeDown", { detail: Schema.String }) {
  override get message() {
    return this.detail
  }
}

const failing = <E, R>(
  builder: EnvGroupBuilder.EnvGroupBuilder<E, R>
): EnvGroupBuilder.EnvGroupBuilder<E | JudgeDown, R> => ({
  ...builder,
  open: Effect.map(builder.open, (group): EnvGroupBuilder.EnvGroup<E | JudgeDown, R> => ({
    ...group,
    makeEnv: (member, attempt) =>
      member === 1
        ? Effect.fail(new JudgeDown({ detail: "no answer from judge.example" }))
        : group.makeEnv(member, attempt)
  }))
})

export default Recipe.make({
  name: "failing",
  description: "Sums whose judge is down in the second iteration",
  settings: Schema.Struct(TrainingSettings.fields({
    model: "effect-rl/tiny-64",
    iterations: 3,
    groupsPerBatch: 1,
    groupSize: 2,
    learningRate: 1e-4,
    maxTokens: 16,
    evalEvery: 0
  })),
  build: (model, settings) => {
    const sums = RLDataset.problems(["1 + 1", "1 + 2", "1 + 3"], {
      model,
      groupsPerBatch: settings.groupsPerBatch,
      groupSize: settings.groupSize,
      problem: (question) => ({ question, answer: "2", check: (text) => text.includes("2") })
    })
    return Recipe.task({
      options: {
        ...TrainingSettings.options(model, settings),
        dataset: {
          ...sums,
          batch: (index: number, seed: number) =>
            Effect.map(sums.batch(index, seed), (builders) => index === 1 ? builders.map(failing) : builders)
        }
      }
    })
  }
})
