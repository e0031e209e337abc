/** Real word problems, which the smallest preset cannot solve. The command must train on them and report honest results. */
import { ChatModel, Rl, RLDataset, RunRecord, RunStore } from "@effect-rl/core"
import { Engine } from "@effect-rl/engine"
import { Jsonl, RunDirectory } from "@effect-rl/files"
import { DigitShareEnv, Gsm8kRow } from "@effect-rl/recipes"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, FileSystem, Option, Path, Schema, Stream } from "effect"
import * as Gsm8kRows from "../../../recipes/test/gsm8k/Gsm8kRows.ts"
import * as CommandLine from "../CommandLine.ts"

const { run, runFolder } = CommandLine

const data = Option.getOrElse(Gsm8kRows.folder, () => "")

const real = data === "" ? describe.skip : describe

const firstRows = (file: string, count: number) =>
  Effect.flatMap(
    Path.Path,
    ({ join }) => Jsonl.rows(join(data, file), Gsm8kRow.Gsm8kRow).pipe(Stream.take(count), Stream.runCollect)
  )

type Rows = ReadonlyArray<Gsm8kRow.Gsm8kRow>

/** A folder with these rows, and the value for `--data`. */
const folderOf = Effect.fnUntraced(function*(files: Readonly<Record<string, Rows>>) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const folder = yield* fs.makeTempDirectoryScoped()
  for (const [name, rows] of Object.entries(files)) {
    yield* fs.writeFileString(path.join(folder, name), rows.map((row) => `${JSON.stringify(row)}\n`).join(""))
  }
  return folder
})

const few = Effect.gen(function*() {
  return yield* folderOf({
    "train.jsonl": yield* firstRows("train.jsonl", 40),
    "test.jsonl": yield* firstRows("test.jsonl", 16)
  })
})

const train = (folder: string, from: string, ...args: ReadonlyArray<string>) =>
  run("train", "gsm8k", "--model", "effect-rl/tiny-64", "--data", from, "--log-path", folder, ...args)

/** Flags for three iterations of four problems with four attempts each. */
const threeIterations = ["--iterations", "3", "--groups-per-batch", "4", "--group-size", "4"]

const matching = (lines: ReadonlyArray<string>, text: string) => lines.filter((line) => line.includes(text))

const decodeRecord = Schema.decodeUnknownOption(Schema.fromJsonString(RunRecord.codec))

/** The iterations' records in the `--json` output of a run. */
const updatesOf = (lines: ReadonlyArray<string>) =>
  lines.flatMap((line) => Option.toArray(decodeRecord(line))).filter(RunRecord.guards.Updated)

const recordsOf = Effect.fnUntraced(function*(folder: string) {
  const { read } = yield* RunDirectory.open(folder)
  return yield* Stream.runCollect(read)
})

/** The training groups of a run. */
const groupsOf = (folder: string) =>
  Effect.map(
    recordsOf(folder),
    (records) => records.filter(RunRecord.guards.GroupRolledOut).filter(({ evaluator }) => evaluator === undefined)
  )

/** Problems whose answers have several digits, so a wrong answer can be close to the right one. */
const longAnswers = (count: number) =>
  Effect.map(
    firstRows("train.jsonl", 200),
    (rows) =>
      rows.flatMap(({ answer, question }) =>
        Option.toArray(Option.map(Gsm8kRow.finalAnswer(answer), (answer) => ({ question, answer })))
      ).filter(({ answer }) => answer.length >= 3).slice(0, count)
  )

/** Twelve attempts at each of an iteration's eight problems. */
const nearAnswers = (model: ChatModel.ChatModel, problems: ReadonlyArray<Gsm8kRow.Problem>) =>
  RLDataset.fromArray(problems, {
    groupsPerBatch: 8,
    group: ({ answer, question }, index) => ({
      key: String(index),
      size: 12,
      tags: [],
      open: Effect.succeed({
        makeEnv: () => Effect.sync(() => DigitShareEnv.make({ model, problem: question, answer }))
      })
    })
  })

real("GSM8K (skipped where shared/data/gsm8k is absent)", () => {
  const withFiles = Effect.provide(NodeServices.layer)

  it.effect("gives no signal if every answer is wrong: no optimizer step is taken, and the run says so", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      const { exit, out } = yield* train(
        folder,
        yield* few,
        ...threeIterations,
        "--max-tokens",
        "2",
        "--eval-every",
        "3"
      )
      assert.isTrue(Exit.isSuccess(exit))
      assert.lengthOf(matching(out, "reward -0.100 ± 0.000  informative 0 %"), 3)
      assert.lengthOf(matching(out, "no signal, nothing trained"), 3)
      assert.lengthOf(matching(out, "of 16 correct"), 2)
      assert.lengthOf(matching(out, "held_out after 0 iterations: 0.0 % of 16 correct"), 1)

      const records = yield* recordsOf(folder)
      assert.deepInclude(records.findLast(RunRecord.guards.Saved), { name: "final", iteration: 3, optimizerSteps: 0 })
      for (const { metrics } of records.filter(RunRecord.guards.Updated)) assert.notProperty(metrics, "grad_norm")
      const groups = yield* groupsOf(folder)
      assert.lengthOf(groups, 12)
      for (const { rewards } of groups) assert.deepStrictEqual(rewards, [-0.1, -0.1, -0.1, -0.1])
    }).pipe(withFiles))

  it.effect("gives a signal exactly in the iterations in which attempts at one problem differ", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      const { out } = yield* train(
        folder,
        yield* few,
        ...threeIterations,
        "--max-tokens",
        "24",
        "--eval-every",
        "0",
        "--json"
      )
      const groups = yield* groupsOf(folder)
      const differing = (iteration: number) =>
        groups.filter((group) => group.iteration === iteration && new Set(group.rewards).size > 1).length
      const updates = updatesOf(out)
      assert.lengthOf(updates, 3)
      for (const { iteration, metrics, reward, updates: taken } of updates) {
        assert.strictEqual(metrics["groups/informative"], differing(iteration))
        assert.strictEqual(metrics["optim/datums"], 4 * differing(iteration))
        assert.lengthOf(taken, differing(iteration) > 0 ? 1 : 0)
        assert.isBelow(reward?.mean ?? NaN, 0.25)
      }
      for (const reward of groups.flatMap(({ rewards }) => rewards)) assert.include([-0.1, 0, 0.9, 1], reward)
    }).pipe(withFiles))

  it.effect("gives a signal in every iteration if near answers earn rewards", () =>
    Effect.gen(function*() {
      const backend = Engine.layerOptions({ checkpoints: yield* runFolder, workers: 0 })
      const problems = yield* longAnswers(24)
      const records = yield* Stream.unwrap(Effect.map(ChatModel.resolve("effect-rl/tiny-64"), (model) =>
        Rl.run({
          model,
          dataset: nearAnswers(model, problems),
          sampling: { maxTokens: 16 },
          update: { learningRate: 1e-4 }
        })))
        .pipe(
          Stream.runCollect,
          Effect.provide([backend, RunStore.RunStore.layerMemory])
        )
      const updates = records.filter(RunRecord.guards.Updated)
      assert.lengthOf(updates, 3)
      for (const { metrics, reward, updates: taken } of updates) {
        assert.lengthOf(taken, 1)
        assert.isAbove(reward?.mean ?? NaN, 0)
        assert.isAbove(metrics["grad_norm"] ?? NaN, 0)
        assert.isAbove(metrics["update_norm"] ?? NaN, 0)
        assert.strictEqual(metrics["optim/ratio_mean"], 1)
      }
    }).pipe(withFiles))

  it.effect("holds out 200 problems if there is no test.jsonl", () =>
    Effect.gen(function*() {
      const from = yield* folderOf({ "train.jsonl": yield* firstRows("train.jsonl", 208) })
      const folder = yield* runFolder
      const args = [
        "--backend",
        "mock",
        "--iterations",
        "2",
        "--groups-per-batch",
        "4",
        "--group-size",
        "2",
        "--eval-every",
        "2"
      ]
      const { out } = yield* train(folder, from, ...args)
      assert.lengthOf(matching(out, "of 200 correct"), 2)
      assert.lengthOf(yield* groupsOf(folder), 8)
    }).pipe(withFiles))

  it.effect("is refused if a test problem is also a training problem, and no files are left behind", () =>
    Effect.gen(function*() {
      const rows = yield* firstRows("train.jsonl", 40)
      const test = yield* firstRows("test.jsonl", 16)
      const from = yield* folderOf({ "train.jsonl": rows, "test.jsonl": [...test, ...rows.slice(6, 7)] })
      const folder = yield* runFolder
      const { errors, exit } = yield* train(folder, from, ...threeIterations)
      assert.isTrue(Exit.isFailure(exit))
      assert.lengthOf(matching(errors, "error: row 17 of the test problems is row 7 of the training problems"), 1)
      assert.isFalse(yield* FileSystem.FileSystem.use((fs) => fs.exists(folder)))
    }).pipe(withFiles))

  it.effect("has half of the attempts at each problem right with the mock backend", () =>
    Effect.gen(function*() {
      const { out } = yield* run(
        ...CommandLine.short.with(1, "gsm8k"),
        "--data",
        data,
        "--iterations",
        "1",
        "--log-path",
        yield* runFolder
      )
      assert.lengthOf(matching(out, "iteration 1/1  reward 0.500 ± 0.000  informative 100 %"), 1)
    }).pipe(withFiles))
})
