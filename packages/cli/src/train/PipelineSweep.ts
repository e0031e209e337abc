/** Trains one pipeline with several seeds and reports the stages' results over all seeds. */
import { Quantity } from "@effect-rl/core/records"
import type { Pipeline } from "@effect-rl/recipes"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as FinalReport from "../report/FinalReport.ts"
import * as Columns from "../terminal/Columns.ts"
import { Output } from "../terminal/Output.ts"
import * as PipelineRun from "./PipelineRun.ts"
import * as SeedSweep from "./SeedSweep.ts"
import * as TrainRun from "./TrainRun.ts"

/** One stage's measurements with one seed. */
const measured = ({ history, stage }: PipelineRun.Trained) =>
  Object.entries(FinalReport.record(history).evaluations).flatMap(([evaluator, { after, before }]) =>
    after === undefined || before === undefined ? [] : [{ stage, evaluator, before: before.value, after: after.value }]
  )

/** The means over the seeds, and their spread. */
const overSeeds = (seeds: ReadonlyArray<ReadonlyArray<PipelineRun.Trained>>) => {
  const all = seeds.flatMap((trained) => trained.flatMap(measured))
  const byStage = Object.values(Arr.groupBy(all, ({ evaluator, stage }) => `${stage} ${evaluator}`))
  return byStage.map((same) => {
    const { evaluator, stage } = same[0]
    const { mean: before } = SeedSweep.spread(same.map(({ before }) => before))
    const { greatest, least, mean: after } = SeedSweep.spread(same.map(({ after }) => after))
    return { stage, evaluator, before, after, least, greatest }
  })
}

const headings = ["stage", "evaluator", "before", "after", "least", "greatest"]

/** Trains the pipeline once per seed, each in its own folder, and shows the stages' results over all seeds. */
export const run = Effect.fn("PipelineSweep.run")(function*<E, R>(
  pipeline: Pipeline.Pipeline<E, R>,
  given: Readonly<Record<string, unknown>>,
  flags: TrainRun.Flags,
  count: number
) {
  const { seed: first } = yield* TrainRun.configure(pipeline, given, flags)
  const runs = yield* SeedSweep.each(
    first,
    count,
    flags,
    (seed, flags) => PipelineRun.run(pipeline, { ...given, seed }, flags)
  )
  if (flags.plan) return
  const stages = overSeeds(runs.map(({ trained }) => trained))
  const cells = stages.map(({ evaluator, stage, ...shares }) => [
    stage,
    evaluator,
    ...Object.values(shares).map((share) => Quantity.percent(share, 1))
  ])
  const folders = runs.map(({ folder }) => folder)
  yield* Effect.provide(
    Output.use((output) =>
      Effect.andThen(
        output.lines([
          "",
          output.style.bold(`the stages over ${count} seeds`),
          ...Columns.aligned([headings, ...cells])
        ]),
        output.record({ type: "sweep", folders, stages })
      )
    ),
    PipelineRun.outputOf(flags)
  )
})
