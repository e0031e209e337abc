/**
 * Measures whether every algorithm learns and its control does not, on several seeds. Measures the rows that `benchmark/results/curves`
 * lacks, for all figures or only for those named as arguments, draws their curves into `docs/images/curves`, and writes the table of all.
 */
import { Effect } from "effect"
import * as OnEngine from "../OnEngine.ts"
import * as Report from "../Report.ts"
import * as Figure from "./Figure.ts"
import * as Distillation from "./figures/Distillation.ts"
import * as Examples from "./figures/Examples.ts"
import * as Held from "./figures/Held.ts"
import * as Prompts from "./figures/Prompts.ts"
import * as Rewards from "./figures/Rewards.ts"
import * as Rlhf from "./figures/Rlhf.ts"
import * as Tags from "./figures/Tags.ts"
import * as Tools from "./figures/Tools.ts"
import * as Sums from "./Sums.ts"

const { groupSize, groupsPerBatch, iterations, learningRate } = Sums.usual

const program = Effect.gen(function*() {
  const teacher = yield* Distillation.trained("effect-rl/tiny-128")
  const { offPolicy, onPolicy, topK } = Distillation.figures(teacher)
  const figures: ReadonlyArray<Figure.Figure<unknown, OnEngine.Services>> = [
    Rewards.paces,
    Rewards.credits,
    Rewards.batchCredits,
    Held.length,
    Rewards.dynamic,
    Held.kl,
    Held.klGroups,
    Rewards.losses,
    Rewards.aggregations,
    Rewards.proximal,
    Tools.figure,
    Rewards.streaming,
    Rewards.ranks,
    Examples.supervised,
    Examples.dpo,
    Examples.preferenceLosses,
    onPolicy,
    yield* Tags.figure(teacher),
    yield* Prompts.figure,
    offPolicy,
    topK,
    yield* Rlhf.figure
  ]
  const named = process.argv.slice(2)
  const chosen = named.length === 0 ? figures : figures.filter(({ name }) => named.includes(name))
  yield* Effect.forEach(chosen, Figure.measure, { discard: true })
  yield* Effect.forEach(figures, (figure) => Figure.draw(figure), { discard: true })
  const tables = yield* Effect.forEach(figures, (figure) => Figure.table(figure))
  Report.write("algorithms", "Does every algorithm learn?", [
    `Unless stated otherwise, runs train tiny-64 on sums for ${iterations} iterations of ${groupsPerBatch} groups × ${groupSize} attempts, with learning rate ${learningRate}, importance
sampling and group-centred credit. Before training 0.379 of the answers to the ${Sums.problems} held-out problems are correct. Shares are over all
seeds, with Wilson's interval; other numbers are means. See also [the curves](algorithm-curves.md).`,
    Report.table(Figure.header, tables.flatMap(({ rows }) => rows))
  ])
})

OnEngine.runMain(program)
