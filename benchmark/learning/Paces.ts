/** What sampling ahead costs in reward, by loss: K iterations ahead, on three seeds, beside training on-policy. */
import { Effect } from "effect"
import * as OnEngine from "../OnEngine.ts"
import * as Report from "../Report.ts"
import * as Sums from "./Sums.ts"

const stepsOffPolicy = [0, 1, 3]
const losses = ["importance_sampling", "ppo", "dppo", "cispo"] as const

const age = (outcomes: ReadonlyArray<Sums.Outcome>, metric: string) =>
  outcomes.flatMap(({ updates }) => updates.map(({ metrics }) => metrics[metric] ?? 0))

const rowOf = Effect.fnUntraced(function*(loss: typeof losses[number], maxStepsOffPolicy: number) {
  const outcomes = yield* Sums.train({ loss, pace: "async", maxStepsOffPolicy })
  const meanAge = Report.mean(age(outcomes, "async/staleness_mean")).toFixed(2)
  const oldest = String(Math.max(...age(outcomes, "async/staleness_max")))
  return Sums.row(`${loss}, K = ${maxStepsOffPolicy}`, outcomes, meanAge, oldest)
})

const { groupSize, groupsPerBatch, iterations, learningRate } = Sums.usual

const program = Effect.gen(function*() {
  const rows = yield* Effect.forEach(
    stepsOffPolicy.flatMap((k) => losses.map((loss) => [loss, k] as const)),
    ([loss, k]) => rowOf(loss, k)
  )
  Report.publish("paces", "What does sampling ahead cost?", [
    `tiny-64 on sums, ${iterations} iterations of ${groupsPerBatch} groups × ${groupSize} attempts, learning rate ${learningRate}, groups begun K iterations ahead; K = 0 is
synchronous training, bit for bit. Right answers are to ${Sums.problems} held-out problems after training, of three seeds together with Wilson's
interval, and of each. A group's age is in iterations between the weights that it was begun with and those that train on it. Rewards are
means over the seeds, iteration by iteration, between 0 and 1. Importance sampling has no clip: with K above 0 it has to be asked for by name.`,
    Report.table(["", "right answers [95 %]", "of each seed", "mean age", "oldest", "rewards"], rows)
  ])
})

OnEngine.runMain(program)
