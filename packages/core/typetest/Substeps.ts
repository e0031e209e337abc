/** PPO with several optimizer steps per batch, as a run and as a hand-written loop. */
import { Advantage, type ChatModel, Credit, Loss, Rl, type RLDataset } from "@effect-rl/core"
import type { Datum, TrainingClient } from "@effect-rl/core/backend"
import { type GroupResult, Signal, TrainingData } from "@effect-rl/core/program"
import { type Array, Effect } from "effect"

declare const model: ChatModel.ChatModel
declare const dataset: RLDataset.RLDataset

export const run = Rl.run({
  model,
  dataset,
  sampling: { maxTokens: 512 },
  update: {
    learningRate: 4e-5,
    loss: Loss.ppo({ clipLow: 0.8, clipHigh: 1.28 }),
    credit: Credit.groupRelative(Advantage.leaveOneOut),
    substeps: 4
  }
})

/** Submits all passes and steps before it awaits the first. */
export const byHand = Effect.fnUntraced(function*(
  client: TrainingClient.TrainingClient,
  batches: ReadonlyArray<Array.NonEmptyReadonlyArray<Datum.Datum<"PolicyTokens">>>
) {
  const submitted = yield* Effect.forEach(batches, (data) =>
    Effect.all({
      pass: client.forwardBackward(data, Loss.ppo()),
      step: client.optimStep({ learningRate: 4e-5 })
    }))
  return yield* Effect.forEach(submitted, ({ pass, step }) => Effect.all([pass.await, step.await]))
})

export const learn = (results: ReadonlyArray<GroupResult.GroupResult>): ReadonlyArray<Datum.Datum<"PolicyTokens">> => {
  return Signal.informative(results).flatMap((group) => TrainingData.assemble(group, Advantage.leaveOneOut).data)
}
