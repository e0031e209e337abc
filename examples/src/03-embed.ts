// A run is a value. In this example it is one task of a larger app, which stops the run at a goal, limits its time, logs a warning
// if the backend is unavailable, and reports its progress.
import { ChatModel, ProblemGroupBuilder, Rl, RLDataset, RunRecord, RunStore } from "@effect-rl/core"
import { Engine } from "@effect-rl/engine"
import { MathEnv } from "@effect-rl/recipes"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect, Ref, Schedule, Stream } from "effect"

const sums = Array.from({ length: 64 }, (_, index) => ({ a: (index * 37) % 100, b: (index * 61) % 100 }))

/** The updates of a run that ends once an iteration's mean reward reaches the goal, or after four epochs: 16 iterations. */
export const learnSums = (goal: number) =>
  Effect.map(ChatModel.resolve("effect-rl/tiny-128"), (model) => {
    const dataset = RLDataset.fromArray(sums, {
      groupsPerBatch: 16,
      epochs: 4,
      shuffle: true,
      group: ({ a, b }) =>
        ProblemGroupBuilder.make({
          key: `${a}+${b}`,
          size: 8,
          env: () => MathEnv.make({ model, problem: `What is ${a} + ${b}?`, answer: String(a + b) })
        })
    })
    return Rl.run({ model, dataset, sampling: { maxTokens: 40 }, update: { learningRate: 1e-3 } })
  }).pipe(
    Stream.unwrap,
    Stream.filter(RunRecord.guards.Updated),
    Stream.takeUntil(({ reward }) => (reward?.mean ?? 0) >= goal)
  )

export const app = Effect.gen(function*() {
  const progress = yield* Ref.make("no iteration yet")
  const training = learnSums(0.6).pipe(
    Stream.runForEach(({ iteration, reward }) =>
      Ref.set(progress, `iteration ${iteration + 1}: reward ${reward?.mean.toFixed(2)}`)
    ),
    Effect.timeout("2 minutes"),
    Effect.catchReason(
      "TinkerError",
      "Unavailable",
      () => Effect.logWarning("the backend is unavailable: training has stopped")
    )
  )
  const status = Effect.flatMap(Ref.get(progress), Console.log)
  yield* Effect.raceFirst(training, Effect.repeat(status, Schedule.spaced("2 seconds")))
  yield* status
})

if (import.meta.main) {
  app.pipe(
    Effect.provide([Engine.layer, RunStore.RunStore.layerMemory]),
    Effect.provide(NodeServices.layer),
    NodeRuntime.runMain
  )
}
