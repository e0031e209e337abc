/** Measures the effect of the learning rate, the group size, the number of groups and the credit, changed one at a time, on three seeds. */
import { Effect } from "effect"
import * as OnEngine from "../OnEngine.ts"
import * as Report from "../Report.ts"
import * as Sums from "./Sums.ts"

const rows: ReadonlyArray<readonly [title: string, settings: object]> = [
  ["16 × 8, learning rate 1e-3", {}],
  ["learning rate 1e-12", { learningRate: 1e-12 }],
  ["learning rate 1e-4", { learningRate: 1e-4 }],
  ["learning rate 3e-4", { learningRate: 3e-4 }],
  ["learning rate 3e-3", { learningRate: 3e-3 }],
  ["learning rate 1e-2", { learningRate: 1e-2 }],
  ["64 groups × 2 attempts", { groupsPerBatch: 64, groupSize: 2 }],
  ["32 groups × 4 attempts", { groupsPerBatch: 32, groupSize: 4 }],
  ["8 groups × 16 attempts", { groupsPerBatch: 8, groupSize: 16 }],
  ["4 groups × 8 attempts", { groupsPerBatch: 4 }],
  ["32 groups × 8 attempts", { groupsPerBatch: 32 }],
  ["2 substeps", { substeps: 2 }],
  ["4 substeps", { substeps: 4 }],
  ["4 substeps, PPO", { substeps: 4, loss: "ppo" }]
]

const { groupSize, groupsPerBatch, iterations, learningRate } = Sums.usual

const program = Effect.gen(function*() {
  const measured = yield* Effect.forEach(
    rows,
    ([title, settings]) => Effect.map(Sums.train(settings), (outcomes) => Sums.row(title, outcomes))
  )
  Report.publish("hyperparameters", "What effect do the settings have?", [
    `The baseline trains tiny-64 on sums for ${iterations} iterations of ${groupsPerBatch} groups × ${groupSize} attempts with importance sampling and learning rate ${learningRate}; each row
changes the setting that it names. "Right answers" is the share of correct answers to ${Sums.problems} held-out problems after training, for three seeds
together, with Wilson's interval, and for each seed. Rewards are means over the seeds for each iteration, between 0 and 1.`,
    Report.table(["", "right answers [95 %]", "of each seed", "rewards"], measured)
  ])
})

OnEngine.runMain(program)
