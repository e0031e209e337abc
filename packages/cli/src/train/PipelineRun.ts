/** One `train` command for a pipeline: it runs the stages in order, each as a run in its own folder, and reports their results. */
import { RunDirectory } from "@effect-rl/files"
import type { Pipeline } from "@effect-rl/recipes"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as FinalReport from "../report/FinalReport.ts"
import * as RunHistory from "../report/RunHistory.ts"
import * as Columns from "../terminal/Columns.ts"
import { commandName } from "../terminal/CommandName.ts"
import { Output } from "../terminal/Output.ts"
import { RunLog } from "../terminal/RunLog.ts"
import * as RunFolder from "./RunFolder.ts"
import * as TrainRun from "./TrainRun.ts"

/** A stage ended without the checkpoint from which the next stage starts. */
export class StageNotSaved extends Schema.TaggedError<StageNotSaved>()("StageNotSaved", { folder: Schema.String }) {
  override get message() {
    return `${this.folder} ended without a sampler checkpoint, from which the next stage would start`
  }
}

/** A stage that has ended. */
export interface Trained {
  readonly stage: string
  readonly folder: string
  readonly history: RunHistory.RunHistory
  readonly checkpoint: Pipeline.Checkpoint
}

const read = Effect.fnUntraced(function*(stage: string, folder: string) {
  const history = yield* Effect.flatMap(RunDirectory.open(folder), RunHistory.read)
  const { samplerPath = null, statePath = "" } = history.story.saved ?? {}
  if (samplerPath === null) return yield* new StageNotSaved({ folder })
  const trained: Trained = { stage, folder, history, checkpoint: { statePath, samplerPath } }
  return trained
})

const rows = ({ history, stage }: Trained) =>
  FinalReport.ends(history).map(({ before, evaluator, after }) => [stage, evaluator, before, after])

const report = Effect.fnUntraced(function*(folder: string, trained: ReadonlyArray<Trained>) {
  const output = yield* Output
  yield* output.lines([
    "",
    output.style.bold("the stages on held-out problems"),
    ...Columns.aligned([["stage", "evaluator", "before", "after"], ...trained.flatMap(rows)]),
    "",
    `see them:  ${yield* commandName} view ${folder}`
  ])
  yield* output.record({
    type: "pipeline",
    folder,
    stages: trained.map(({ folder, history, stage }) => ({ stage, folder, ...FinalReport.record(history) }))
  })
})

/** The pipeline's output, separate from the outputs of its stages' runs. */
export const outputOf = (flags: TrainRun.Flags) => Layer.provide(Output.layer(flags), RunLog.layerNone)

/** Trains the stages in order and returns their results. After an interruption, running it again resumes. */
export const run = Effect.fn("PipelineRun.run")(function*<E, R>(
  pipeline: Pipeline.Pipeline<E, R>,
  given: Readonly<Record<string, unknown>>,
  flags: TrainRun.Flags
) {
  const path = yield* Path.Path
  const { seed, stages } = yield* TrainRun.configure(pipeline, given, flags)
  const folder = yield* RunFolder.resolve({ ...flags, recipe: pipeline.name, seed })
  const shared = { ...flags, config: Option.none(), set: Option.none(), checkpoints: path.join(folder, "checkpoints") }
  const trained: Array<Trained> = []
  /** The checkpoint of an earlier stage. In a plan, no checkpoint exists yet, so the paths are placeholders. */
  const of = (stage: string): Pipeline.Checkpoint =>
    trained.find((other) => other.stage === stage)?.checkpoint ?? {
      statePath: `the weights of ${stage}`,
      samplerPath: `the sampler's weights of ${stage}`
    }
  const output = outputOf(flags)
  for (const [index, { name, recipe, settings }] of stages.entries()) {
    const own = path.join(folder, name)
    const title = `stage ${index + 1} of ${stages.length}: ${name}`
    yield* Effect.provide(Output.use(({ lines, style }) => lines([style.bold(title)])), output)
    yield* TrainRun.run(recipe, settings(of), { ...shared, logPath: Option.some(own) })
    if (!flags.plan) trained.push(yield* read(name, own))
  }
  if (!flags.plan) yield* Effect.provide(report(folder, trained), output)
  return { folder, trained }
})
