/** Runs with costs, and their prices. */
import { Message, MessagePolicy, Rl, RLDataset, RubricGradedGroupBuilder, RunRecord, Tinker } from "@effect-rl/core"
import { Prices } from "@effect-rl/core/program"
import { Spent } from "@effect-rl/core/records"
import { Script } from "@effect-rl/core/testing"
import { Effect, Stream } from "effect"
import * as Task from "../rl/Task.ts"

export const run = (overrides: Task.Overrides = {}) =>
  Stream.unwrap(Effect.map(Task.options(overrides), (options) => Rl.run(options)))

export const price = { prefill: 1000, cached: 100, sample: 2000, train: 4000 }

/** Prices of the trained model only. */
export const table = { [Script.defaultModel]: price }

export const priced = Stream.provide(Prices.layer(table))

export const lastSpent = (records: ReadonlyArray<RunRecord.RunRecord>) =>
  records.flatMap((record) => "spent" in record ? [record.spent] : []).at(-1) ?? Spent.zero

export const warnings = (records: ReadonlyArray<RunRecord.RunRecord>) =>
  records.filter(RunRecord.guards.Warning).map(({ message }) => message)

/** Why the run ended. */
export const reason = (records: ReadonlyArray<RunRecord.RunRecord>) =>
  records.findLast(RunRecord.guards.Finished)?.reason

export const answersHalf = Task.layer({ sample: Task.answersHalf })

/** A backend with a second model that answers as a judge. */
export const withAnother = Task.layer({
  models: { [Script.defaultModel]: {}, another: {} },
  sample: (request, at) =>
    at.modelPath === "another"
      ? { sequences: [Task.say("<score>1</score>")] }
      : Task.answersHalf(request, at)
})

export const another = Effect.flatMap(Tinker.Tinker, (tinker) => tinker.createSamplingClient({ baseModel: "another" }))

/** A run of two iterations with two groups of four answers, each scored by the judge. */
export const judgedBy = <E, R>(judge: MessagePolicy.MessagePolicy<E, R>, overrides: Task.Overrides["run"] = {}) =>
  Stream.unwrap(Effect.gen(function*() {
    const model = yield* Task.model
    const dataset = RLDataset.fromArray(["one", "two", "three", "four"], {
      groupsPerBatch: 2,
      group: (word) =>
        RubricGradedGroupBuilder.make({
          key: word,
          size: 4,
          model,
          messages: [Message.user(word)],
          rubrics: [{ text: "It is a number." }],
          judge
        })
    })
    return Rl.run({ ...yield* Task.options(), dataset, run: { evalEvery: 0, ...overrides } })
  }))

/** A run of two iterations whose answers the second model judges. */
export const judged = (overrides: Task.Overrides["run"] = {}) =>
  Stream.unwrap(Effect.gen(function*() {
    const model = yield* Task.model
    const judge = MessagePolicy.fromSamplingClient(yield* another, { model, maxTokens: 20, seed: 0 })
    return judgedBy(judge, overrides)
  }))
