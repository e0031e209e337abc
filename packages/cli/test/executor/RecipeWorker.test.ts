/** Tests a worker's response to groups of recipes: their results, or why it cannot run the recipe. */
import * as RecipeWorker from "@effect-rl/cli/executor/RecipeWorker"
import type { SentProgram } from "@effect-rl/cli/executor/SentProgram"
import * as OwnRecipe from "@effect-rl/cli/train/OwnRecipe"
import { RunRecord } from "@effect-rl/core"
import { Metering } from "@effect-rl/core/backend"
import { type Executor, GroupResult, TaskRegistry } from "@effect-rl/core/program"
import { RecipeTask } from "@effect-rl/recipes"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, Option, Path } from "effect"
import { fileURLToPath } from "node:url"

const own = fileURLToPath(new URL("../train/own-recipe.ts", import.meta.url))
const ownService = fileURLToPath(new URL("../train/own-service.ts", import.meta.url))
const model = "effect-rl/tiny-64"

const program = (changes: Partial<SentProgram> = {}): SentProgram => ({
  version: RunRecord.version,
  recipe: "arithmetic",
  model,
  settings: { model, groupSize: 4 },
  backend: { name: "mock", checkpoints: "checkpoints", allowUnmaskedLoss: false },
  ...changes
})

const heldOut = { _tag: "TestSet", evaluator: "held_out_greedy", key: "0.0/25+59" } as const

const job = (changes: Partial<SentProgram> = {}, place: Record<string, string | number> = heldOut): Executor.Job => ({
  group: "a group",
  task: { name: RecipeTask.name, payload: { program: program(changes), place } },
  policy: { modelPath: "mock://weights/of/another/process", options: { maxTokens: 12, seed: 0 } },
  options: {}
})

const worker = RecipeWorker.layer({ workers: Option.none(), unsafeHost: false }).pipe(
  Layer.provideMerge(NodeServices.layer)
)

const rolled = (job: Executor.Job) => TaskRegistry.TaskRegistry.use(({ roll }) => roll(job))

const refusal = (job: Executor.Job) => Effect.map(Effect.flip(rolled(job)), ({ reason }) => reason)

describe("a worker", () => {
  const modules = [["an own module", own], ["an own module with services of its own", ownService]] as const

  it.effect.each(modules)("rolls out a group of %s", ([, file]) =>
    Effect.gen(function*() {
      const code = yield* OwnRecipe.codeOf(file)
      const place = { _tag: "Batch", dataset: "another", index: 0, seed: 0, key: "0" }
      const sent = { recipe: file, code, settings: { model, groupSize: 2 } }
      const reason = yield* refusal(job(sent, place))
      assert.strictEqual(reason._tag === "TaskFailed" ? reason.error : "", "InvalidOption")
      const dataset = reason._tag === "TaskFailed" ? /^dataset is (.*), expected/.exec(reason.detail)?.[1] : undefined
      const result = yield* rolled(job(sent, { ...place, dataset: dataset ?? "" }))
      assert.isFalse(GroupResult.isSkipped(result))
      assert.strictEqual(result.key, "a group")
    }).pipe(Effect.provide(worker)))

  it.effect("counts the tokens of each group with the metering of its caller", () =>
    Effect.gen(function*() {
      const tokensOf = Effect.gen(function*() {
        const { metering, used } = Metering.counter()
        yield* Effect.provideService(rolled(job()), Metering.Metering, metering)
        return used()
      })
      const first = yield* tokensOf
      assert.lengthOf(first, 1)
      assert.deepStrictEqual(yield* tokensOf, first)
    }).pipe(Effect.provide(worker)))

  it.effect("detects that a module was edited after it was read", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const folder = yield* fs.makeTempDirectoryScoped({ directory: path.dirname(own) })
      const file = path.join(folder, "recipe.ts")
      yield* fs.copyFile(own, file)
      const sent = (code: string) => job({ recipe: file, code, settings: { model } })
      const before = yield* refusal(sent(yield* OwnRecipe.codeOf(file)))
      assert.strictEqual(before._tag === "TaskFailed" ? before.error : "", "InvalidOption")
      yield* fs.writeFileString(file, `${yield* fs.readFileString(file)}\n// edited`)
      const after = yield* refusal(sent(yield* OwnRecipe.codeOf(file)))
      assert.strictEqual(after._tag === "TaskFailed" ? after.error : "", "OtherModule")
    }).pipe(Effect.provide(worker)))

  const refusals: ReadonlyArray<readonly [what: string, job: Executor.Job, error: string, detail: string]> = [
    [
      "an unknown recipe",
      job({ recipe: "arithmetics" }),
      "UnknownRecipe",
      "no recipe \"arithmetics\": did you mean \"arithmetic\"?"
    ],
    [
      "a module that it does not have",
      job({ recipe: "./gone.ts", code: "0" }),
      "NoRecipe",
      "./gone.ts is not a recipe"
    ],
    [
      "a module that was edited",
      job({ recipe: own, code: "0" }),
      "OtherModule",
      "differs on the worker: copy the run's file there"
    ],
    [
      "another version of effect-rl",
      job({ version: "99.0.0" }),
      "VersionsDiffer",
      `the worker has effect-rl ${RunRecord.version} and the run 99.0.0`
    ],
    [
      "a group that the recipe does not have",
      job({}, { ...heldOut, key: "1000+1" }),
      "InvalidOption",
      "group \"1000+1\" of evaluator \"held_out_greedy\" is missing at the worker, expected the same recipe, settings"
    ]
  ]

  it.effect.each(refusals)("refuses %s with the reason", ([, job, error, detail]) =>
    Effect.gen(function*() {
      const reason = yield* refusal(job)
      if (reason._tag !== "TaskFailed") return assert.fail(reason._tag)
      assert.strictEqual(reason.error, error)
      assert.include(reason.detail, detail)
    }).pipe(Effect.provide(worker)))
})
