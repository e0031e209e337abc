import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, FileSystem, Path, Struct } from "effect"
import { execFileSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import * as CommandLine from "../CommandLine.ts"

const { run, runFolder } = CommandLine

/** Addition word problems in GSM8K's format. Every third answer has a comma. */
const rows = Array.from({ length: 60 }, (_, index) => {
  const [first, second] = [7 * index + 1, index % 3 === 0 ? 4000 : index]
  return {
    question: `Problem ${index}. Ann has ${first} apples and buys ${second}. How many has she?`,
    answer: `She has ${first} + ${second}.\n#### ${(first + second).toLocaleString("en-US")}`
  }
})

const folder = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const folder = yield* fs.makeTempDirectoryScoped()
  yield* fs.writeFileString(join(folder, "test.jsonl"), rows.map((row) => JSON.stringify(row)).join("\n"))
  return { folder, answers: join(folder, "answers.jsonl") }
}).pipe(Effect.provide(NodeServices.layer))

const records = (lines: ReadonlyArray<string>): ReadonlyArray<Record<string, unknown>> =>
  lines.flatMap((line) => line.startsWith("{") ? [JSON.parse(line)] : [])

const gsm8k = (data: string, ...args: ReadonlyArray<string>) =>
  run("eval", "gsm8k", "--backend", "mock", "--data", data, ...args)

const python = (() => {
  try {
    return execFileSync("python3", ["--version"], { encoding: "utf8" }).startsWith("Python 3") ? "python3" : undefined
  } catch {
    return undefined
  }
})()

const script = fileURLToPath(new URL("../../../recipes/scripts/benchmarks/gsm8k_report.py", import.meta.url))

describe("effect-rl eval", () => {
  it.effect("measures a benchmark from local rows: accuracy, pass@k and their intervals", () =>
    Effect.gen(function*() {
      const { folder: data } = yield* folder
      const { exit, out } = yield* gsm8k(data, "--limit", "50", "--k", "2")
      assert.isTrue(Exit.isSuccess(exit), out.join("\n"))
      assert.include(out[0], "gsm8k")
      assert.strictEqual(out[1], "questions  50, 100 answers")
      assert.match(out[2] ?? "", /^correct {4}\d+\.\d %, \d+\.\d % to \d+\.\d % at 95 %$/)
      assert.match(out[3] ?? "", /^pass@2 {5}\d+\.\d %, \d+\.\d % to \d+\.\d % at 95 %$/)
    }))

  it.effect("writes every answer with its verdict", () =>
    Effect.gen(function*() {
      const { answers, folder: data } = yield* folder
      const { out } = yield* gsm8k(data, "--limit", "6", "--json", "--answers", answers)
      const told = records(out)
      const given = told.filter(({ type }) => type === "answer")
      assert.deepStrictEqual(given.map(({ prompt }) => prompt), rows.slice(0, 6).map(({ question }) => question))
      assert.deepStrictEqual(new Set(given.map(({ correct }) => correct)), new Set([true, false]))
      for (const { correct, reference, response } of given) assert.strictEqual(correct, response === reference)
      const right = given.filter(({ correct }) => correct === true).length
      assert.strictEqual(told.at(-1)?.["correct"], right / 6)
      const written = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.readFileString(answers)).pipe(
        Effect.provide(NodeServices.layer)
      )
      assert.deepStrictEqual(
        records(written.split("\n")),
        given.map(Struct.omit(["type"]))
      )
    }))

  it.effect.skipIf(python === undefined)(
    `reports the numbers of a Python script for the same answers${
      python === undefined ? " (skipped: no python3)" : ""
    }`,
    () =>
      Effect.gen(function*() {
        for (const k of ["1", "3"]) {
          const { answers, folder: data } = yield* folder
          const { out } = yield* gsm8k(data, "--limit", "50", "--k", k, "--json", "--answers", answers)
          const ours = records(out).at(-1) ?? {}
          const theirs: Record<string, unknown> = JSON.parse(
            execFileSync(python ?? "", [script, answers], { encoding: "utf8" })
          )
          const numbers = Object.entries(theirs).filter(([, value]) => typeof value === "number")
          assert.lengthOf(numbers, k === "1" ? 4 : 7)
          for (const [name, value] of numbers) assert.closeTo(Number(ours[name]), Number(value), 1e-12, name)
        }
      })
  )

  it.effect("measures a recipe's held-out problems", () =>
    Effect.gen(function*() {
      const { exit, out } = yield* run("eval", "arithmetic", "--backend", "mock", "--json")
      assert.isTrue(Exit.isSuccess(exit), out.join("\n"))
      const last = records(out).at(-1)
      assert.strictEqual(last?.["type"], "evaluation")
      assert.isAtLeast(Number(last?.["questions"]), 1)
    }))

  it.effect("measures a recipe's default model if no model is named", () =>
    Effect.gen(function*() {
      const { errors, exit, out } = yield* run("eval", "format", "--backend", "mock", "--json")
      assert.isTrue(Exit.isSuccess(exit), errors.join("\n"))
      assert.strictEqual(records(out).at(-1)?.["model"], "effect-rl/tiny-tasks")
    }))

  it.effect("measures a run's newest checkpoint", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      const short = ["--iterations", "1", "--groups-per-batch", "2", "--group-size", "2", "--eval-every", "0"]
      const engine = ["--model", "effect-rl/tiny-64", "--workers", "0"]
      const trained = yield* run("train", "arithmetic", ...engine, ...short, "--log-path", folder)
      assert.isTrue(Exit.isSuccess(trained.exit), trained.errors.join("\n"))
      const { errors, exit, out } = yield* run("eval", "arithmetic", "--checkpoint", folder, "--workers", "0", "--json")
      assert.isTrue(Exit.isSuccess(exit), errors.join("\n"))
      const last = records(out).at(-1)
      assert.strictEqual(last?.["model"], "effect-rl/tiny-64")
      assert.include(String(last?.["checkpoint"]), "/sampler_weights/")
    }))

  const likelihoods = [
    ["supervised", "held_out_examples", { nll: 0.0605, datums: 256 }],
    ["dpo", "held_out_preferences", { margin: 7.26, pairs: 256 }]
  ] as const
  it.effect.each(likelihoods)(
    "measures the held-out examples of %s without training",
    ([recipe, name, expected]) =>
      Effect.gen(function*() {
        const model = ["--model", "effect-rl/tiny-64", "--workers", "0"]
        const { errors, exit, out } = yield* run("eval", recipe, ...model, "--json")
        assert.isTrue(Exit.isSuccess(exit), errors.join("\n"))
        const found = records(out).find((record) => record["name"] === name) ?? {}
        for (const [metric, value] of Object.entries(expected)) {
          assert.closeTo(Number(found[metric]), value, value / 1000 + 1e-4, metric)
        }
      }),
    60_000
  )

  it.effect.each(
    [
      [["gsm9k"], "\"gsm9k\" is neither a benchmark nor a recipe; did you mean \"gsm8k\"?"],
      [["arithmetic", "--limit", "3"], "--limit is 3, expected no value: the recipe \"arithmetic\" says how many"],
      [["gsm8k", "--data", "/nowhere"], "/nowhere: has no file test.jsonl, test.parquet or test.csv"]
    ] as const
  )("refuses %j", ([args, expected]) =>
    Effect.gen(function*() {
      const { errors, exit } = yield* run("eval", ...args, "--backend", "mock")
      assert.isTrue(Exit.isFailure(exit))
      assert.include(errors.join("\n"), expected)
    }))
})
