/**
 * Measures whether a real language model learns on this machine: SmolLM2-135M-Instruct on sums of two numbers below 100.
 *
 *     node --conditions=@effect-rl/source benchmark/learning/SmolLm2.ts --seed 0 --log-path runs/smollm2-0
 *
 * The controls are `--control still` and `--control shuffled`. A run that is started again resumes from its last checkpoint. Each iteration
 * and each evaluation appends a line of JSON to `curve.jsonl` in the run's folder.
 */
import { Rl, type RunRecord } from "@effect-rl/core"
import { Engine, SmolLm2 } from "@effect-rl/engine"
import { RunDirectory } from "@effect-rl/files"
import { Recipes } from "@effect-rl/recipes"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Clock, Console, Effect, FileSystem, Stream } from "effect"
import { parseArgs } from "node:util"
import * as Controls from "./Controls.ts"
import * as RecipeRun from "./RecipeRun.ts"

const { values: flags } = parseArgs({
  options: {
    seed: { type: "string", default: "0" },
    iterations: { type: "string", default: "30" },
    control: { type: "string", default: "none" },
    "log-path": { type: "string", default: "runs/smollm2" }
  }
})

const seed = Number(flags.seed)
const iterations = Number(flags.iterations)
const folder = flags["log-path"]

const controls = {
  none: Controls.none,
  still: Controls.noLearning,
  shuffled: Controls.shuffledRewards
}

const isControl = (name: string): name is keyof typeof controls => Object.hasOwn(controls, name)

/** The part of a record to write; undefined for most records. */
const lineOf = (record: RunRecord.RunRecord): object | undefined => {
  if (record._tag === "Evaluated") return { iteration: record.iteration, heldOutGreedy: record.score }
  if (record._tag !== "Updated") return undefined
  const { iteration, metrics, reward } = record
  return { iteration, reward: reward?.mean, metrics }
}

const program = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  if (!isControl(flags.control)) return yield* Effect.die(`--control is ${flags.control}, expected still or shuffled`)
  const startedAt = yield* Clock.currentTimeMillis
  const given = yield* RecipeRun.options(Recipes.smolLm2Sums, { seed, iterations, saveEvery: 3 })
  yield* Rl.run({ ...given, update: { ...given.update, ...controls[flags.control](seed) } }).pipe(
    Stream.runForEach((record) =>
      Effect.gen(function*() {
        const line = lineOf(record)
        if (line === undefined) return
        const seconds = ((yield* Clock.currentTimeMillis) - startedAt) / 1000
        const text = JSON.stringify({ control: flags.control, seed, seconds, ...line })
        yield* Console.log(text)
        yield* fs.writeFileString(`${folder}/curve.jsonl`, `${text}\n`, { flag: "a" })
      })
    )
  )
})

program.pipe(
  Effect.provide(RunDirectory.layer(folder)),
  Effect.provide(Engine.layerOptions({ models: [SmolLm2.name], checkpoints: `${folder}/checkpoints` })),
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)
