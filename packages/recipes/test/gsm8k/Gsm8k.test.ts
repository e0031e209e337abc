import { RunRecord, RunStore, Tinker } from "@effect-rl/core"
import { Weights } from "@effect-rl/core/backend"
import { Script, ScriptedTinker } from "@effect-rl/core/testing"
import { Hub } from "@effect-rl/files"
import { BoxedProblems, Gsm8k, type Gsm8kRow, Gsm8kSource, MathEnv, Recipes, type Split } from "@effect-rl/recipes"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, Option, Path, Schema, Stream } from "effect"
import * as TestModel from "../TestModel.ts"
import * as Gsm8kRows from "./Gsm8kRows.ts"

const settings = {
  ...Schema.decodeUnknownSync(Gsm8k.Settings)({}),
  iterations: 2,
  groupsPerBatch: 3,
  groupSize: 4,
  evalEvery: 0
}

const problems: ReadonlyArray<Gsm8kRow.Problem> = Array.from({ length: 12 }, (_, index) => ({
  question: `How much is ${index} and 1?`,
  answer: String(index + 1)
}))

const say = (answer: string) => Script.text(TestModel.tokenizer, `\\boxed{${answer}}<|im_end|>`)

/** Answers every second attempt of a group right, because a member's seed is its group's seed plus its index. */
const answersHalf = (answerTo: (prompt: string) => Option.Option<string>) =>
  Script.reply(
    TestModel.tokenizer,
    (prompt, { seed = 0 }) => say(seed % 2 === 0 ? Option.getOrElse(answerTo(prompt), () => "none") : "wrong")
  )

/** Answers every second request right, over all groups together. */
const alternates = (answerTo: (prompt: string) => Option.Option<string>) =>
  Script.reply(
    TestModel.tokenizer,
    (prompt, { sequence }) => say(sequence % 2 === 0 ? Option.getOrElse(answerTo(prompt), () => "none") : "wrong")
  )

const model = "effect-rl/scripted"
const scripted = (sample: Script.SampleScript) =>
  Layer.merge(
    ScriptedTinker.layer({ models: { [model]: { contextLength: 4096 } }, sample }),
    RunStore.RunStore.layerMemory
  )

const iterations = (split: Split.Split) =>
  Effect.gen(function*() {
    const { answerTo, run } = yield* BoxedProblems.task(yield* TestModel.model, settings, split)
    const records = yield* run.pipe(
      Stream.runCollect,
      Effect.provide(scripted(answersHalf(answerTo)))
    )
    return records.filter(RunRecord.guards.Updated)
  })

const half = {
  reward: { mean: 0.5, standardError: 0 },
  groups: 3,
  informative: 3,
  datums: 12,
  optimizerSteps: 1,
  correct: 0.5,
  format: 1,
  truncated: 0
}

const summary = ({ metrics, reward, updates }: RunRecord.Updated) => ({
  reward,
  groups: metrics["groups/total"],
  informative: metrics["groups/informative"],
  datums: metrics["optim/datums"],
  optimizerSteps: updates.length,
  correct: metrics["env/all/correct"],
  format: metrics["env/all/format"],
  truncated: metrics["env/all/truncated"]
})

const writeRows = (rows: Readonly<Record<string, ReadonlyArray<unknown>>>) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const folder = yield* fs.makeTempDirectoryScoped()
    for (const [name, lines] of Object.entries(rows)) {
      yield* fs.writeFileString(path.join(folder, name), lines.map((line) => `${JSON.stringify(line)}\n`).join(""))
    }
    return folder
  })

const row = ({ answer, question }: Gsm8kRow.Problem) => ({ question, answer: `Adding up.\n#### ${answer}` })

const noHub = Layer.mock(Hub.Hub, {})

describe("BoxedProblems.task", () => {
  it.effect("has exactly the metrics of a policy that answers half of the problems", () =>
    Effect.gen(function*() {
      const events = yield* iterations({ train: problems, test: [] })
      assert.deepStrictEqual(events.map(summary), [half, half])
    }))

  it.effect("evaluates each test problem once", () =>
    Effect.gen(function*() {
      const split = { train: problems.slice(0, 2), test: problems.slice(2) }
      const { answerTo, evaluators } = yield* BoxedProblems.task(yield* TestModel.model, settings, split)
      const { metrics } = yield* Effect.gen(function*() {
        const sampler = yield* Effect.flatMap(Tinker.Tinker, (tinker) =>
          tinker.createSamplingClient({ baseModel: model }))
        const [evaluator] = evaluators
        assert(evaluator !== undefined)
        return yield* evaluator.evaluate(Weights.fromSamplingClient(sampler))
      }).pipe(Effect.provide(scripted(alternates(answerTo))))
      assert.strictEqual(metrics["held_out/correct"], 0.5)
      assert.strictEqual(metrics["held_out/reward"], 0.5)
      assert.strictEqual(metrics["held_out/episodes"], 10)
    }))

  it.effect("has a fingerprint that depends on the group size and the prompts, but not on the number of steps", () =>
    Effect.gen(function*() {
      const model = yield* TestModel.model
      const fingerprint = (changes: Partial<typeof settings>) =>
        Effect.map(
          BoxedProblems.task(model, { ...settings, ...changes }, { train: problems, test: [] }),
          ({ dataset }) => dataset.fingerprint
        )
      const same = yield* fingerprint({})
      assert.strictEqual(yield* fingerprint({ iterations: 40 }), same)
      assert.notStrictEqual(yield* fingerprint({ groupSize: 8 }), same)
      assert.notStrictEqual(yield* fingerprint({ fewShot: !settings.fewShot }), same)
    }))

  it.effect("gives reference answers to its own prompts only", () =>
    Effect.gen(function*() {
      const { answerTo } = yield* BoxedProblems.task(yield* TestModel.model, settings, { train: problems, test: [] })
      assert.deepStrictEqual(
        answerTo("user: How much is 3 and 1? Write your answer in \\boxed{} format. assistant:"),
        Option.some("4")
      )
      assert.deepStrictEqual(answerTo("How much is the fish?"), Option.none())
    }))
})

describe("Gsm8kSource.load", () => {
  const load = (rows: Readonly<Record<string, ReadonlyArray<unknown>>>) =>
    Effect.flatMap(writeRows(rows), Gsm8kSource.load).pipe(Effect.provide([NodeServices.layer, noHub]))

  it.effect("reads train.jsonl and test.jsonl", () =>
    Effect.gen(function*() {
      const { test, train } = yield* load({
        "train.jsonl": problems.slice(0, 8).map(row),
        "test.jsonl": problems.slice(8).map(row)
      })
      assert.deepStrictEqual([train, test], [problems.slice(0, 8), problems.slice(8)])
    }))

  it.effect("refuses a problem that is in both", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(
        load({ "train.jsonl": problems.map(row), "test.jsonl": problems.slice(4, 5).map(row) })
      )
      assert.strictEqual(error._tag, "Overlap")
      assert.include(error.message, "row 1 of the test problems is row 5 of the training problems")
    }))

  it.effect("names the row without a final answer", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(
        load({ "train.jsonl": [...problems.map(row), { question: "?", answer: "some" }] })
      )
      assert.strictEqual(error._tag, "NoFinalAnswer")
      assert.include(error.message, "row 13")
    }))

  it.effect("names a row without a problem, and a file or folder without problems", () =>
    Effect.gen(function*() {
      const noProblem = yield* Effect.flip(load({ "train.jsonl": [{ question: 3 }] }))
      assert.strictEqual(noProblem._tag, "RowError")
      assert.include(noProblem.message, "row 1")
      const noRow = yield* Effect.flip(load({ "train.jsonl": problems.map(row), "test.jsonl": [] }))
      assert.strictEqual(noRow._tag, "RowError")
      assert.include(noRow.message, "test.jsonl: has no rows, expected at least one problem")
      const noFile = yield* Effect.flip(load({}))
      assert.strictEqual(noFile._tag, "RowError")
      assert.include(noFile.message, "train.jsonl: it does not exist")
    }))
})

describe("Recipes.gsm8k.build", () => {
  it.effect("refuses a problem whose prompt exceeds the model's context", () =>
    Effect.gen(function*() {
      const long = { question: "How many? ".repeat(500), answer: "1" }
      const folder = yield* writeRows({
        "train.jsonl": problems.map(row),
        "test.jsonl": [row({ question: "And now?", answer: "0" }), row(long)]
      })
      const error = yield* Effect.flip(
        Effect.flatMap(
          Recipes.gsm8k.configure({ data: folder, maxTokens: 8 }),
          ({ build }) => Effect.flatMap(TestModel.model, build)
        )
      )
      assert.include(error.message, "shorten or remove the problem, or lower maxTokens. It asks: How many? How many?")
    }).pipe(Effect.provide([NodeServices.layer, noHub])))
})

const withRows = Option.isSome(Gsm8kRows.folder) ? describe : describe.skip

withRows("the real problems (skipped where shared/data/gsm8k is absent)", () => {
  const split = Effect.suspend(() => Gsm8kSource.load(Option.getOrThrow(Gsm8kRows.folder))).pipe(
    Effect.provide([NodeServices.layer, noHub])
  )

  it.effect("contain 7473 training and 1319 test problems, each with a number as its answer", () =>
    Effect.gen(function*() {
      const { test, train } = yield* split
      assert.deepStrictEqual([train.length, test.length], [7473, 1319])
      for (const { answer } of [...train, ...test]) assert.match(answer, /^-?\d+(\.\d+)?$/)
      assert.strictEqual(test[0]?.answer, "18")
    }))

  it.effect("give exactly the metrics of a policy that answers half of them", () =>
    Effect.gen(function*() {
      const events = yield* iterations(yield* split)
      assert.deepStrictEqual(events.map(summary), [half, half])
    }))

  it.effect("give exactly the metrics of a policy that treats each problem differently", () =>
    Effect.gen(function*() {
      const { train } = yield* split
      const four = { train: train.slice(0, 4), test: [] }
      const { answerTo, run } = yield* BoxedProblems.task(
        yield* TestModel.model,
        { ...settings, iterations: 1, groupsPerBatch: 4 },
        four
      )
      const [right, sometimes, unboxed, cut] = four.train.map(({ question }) => MathEnv.question(question))
      assert(right !== undefined && sometimes !== undefined && unboxed !== undefined && cut !== undefined)
      const sample = Script.reply(TestModel.tokenizer, (prompt, { seed = 0 }) => {
        const answer = Option.getOrThrow(answerTo(prompt))
        if (prompt.includes(right) || (prompt.includes(sometimes) && seed % 2 === 0)) return say(answer)
        if (prompt.includes(sometimes)) return say("wrong")
        if (prompt.includes(unboxed)) return Script.text(TestModel.tokenizer, `${answer}<|im_end|>`)
        return Script.text(TestModel.tokenizer, `\\boxed{${answer}} and`, { stopReason: "length" })
      })
      const records = yield* run.pipe(Stream.runCollect, Effect.provide(scripted(sample)))
      const [iteration] = records.filter(RunRecord.guards.Updated)
      assert(iteration !== undefined)
      // The means of the groups are 1, 0.5, −0.1 and 0.9.
      assert.closeTo(iteration.reward?.mean ?? NaN, 0.575, 1e-12)
      assert.closeTo(iteration.reward?.standardError ?? NaN, Math.sqrt(0.7475 / 12), 1e-12)
      assert.lengthOf(iteration.updates, 1)
      assert.deepInclude(iteration.metrics, {
        "env/all/correct": 0.625,
        "env/all/format": 0.5,
        "env/all/truncated": 0.25,
        "env/all/stop/max_tokens": 0.25,
        "env/all/by_group/frac_mixed": 0.25,
        "groups/total": 4,
        "groups/informative": 1,
        "optim/datums": 4,
        "groups/all_good": 2,
        "groups/all_bad": 1,
        "train/episodes": 4,
        "train/reward/total": 0.5,
        "optim/ratio_mean": 1
      })
    }))
})
