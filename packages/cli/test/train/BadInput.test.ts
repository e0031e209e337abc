/** Tests mistakes in a run's inputs and damage to its files: one message says what is wrong and what to do, and finished work is kept. */
import { RunDirectory } from "@effect-rl/files"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, FileSystem, Path } from "effect"
import * as CommandLine from "../CommandLine.ts"

const { run, runFolder, short } = CommandLine

const withFiles = Effect.provide(NodeServices.layer)

const exists = (file: string) => FileSystem.FileSystem.use((fs) => fs.exists(file))

const refused = ({ errors, exit }: CommandLine.Ran, message: string) => {
  assert.isTrue(Exit.isFailure(exit))
  assert.include(errors[0], message)
  assert.isTrue(errors.every((line) => !/\n? +at .*:\d+/.test(line)), "no stack")
}

const problem = (question: string) => JSON.stringify({ question, answer: "#### 7" })

/** A folder with these lines as training problems, and one held-out problem. */
const problems = Effect.fnUntraced(function*(lines: ReadonlyArray<string>) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const folder = yield* fs.makeTempDirectoryScoped()
  yield* fs.writeFileString(path.join(folder, "train.jsonl"), lines.map((line) => `${line}\n`).join(""))
  yield* fs.writeFileString(path.join(folder, "test.jsonl"), `${problem("How much is one and six?")}\n`)
  return folder
})

const many = Array.from({ length: 20 }, (_, index) => problem(`How much is ${index} and one?`))

type File = readonly [fault: string, lines: ReadonlyArray<string>, message: string]

const files: ReadonlyArray<File> = [
  ["a line cut off", [...many, "{\"question\": \"How"], "train.jsonl, row 21: Expected a valid JSON string\nin: {"],
  [
    "a question that is a number",
    ["{\"question\": 7, \"answer\": \"\"}"],
    "row 1: Expected string\n  at [\"question\"]"
  ],
  [
    "an answer without its last line",
    ["{\"question\": \"?\", \"answer\": \"seven\"}"],
    "row 1: the answer has no line \"#### <number>\": …seven"
  ],
  ["no rows", [], "train.jsonl: has no rows, expected at least one problem"],
  [
    "a problem that is too long for the context",
    [...many, problem("How? ".repeat(500))],
    "expected at most 1152 together, the model's context: shorten or remove the problem, or lower maxTokens. It asks: How?"
  ]
]

const flags: ReadonlyArray<readonly [flag: string, message: string]> = [
  ["--learning-rate 0", "--learning-rate is 0, expected a number above 0"],
  ["--unsafe-host", "--unsafe-host is given, expected to be left out, because this recipe does not start agents"],
  ["--workers 1000", "workers is 1000, expected at most 212: the memory of 4 GiB has no room for more"],
  [
    "--backend torch --python /nowhere/python",
    "start: there is no Python \"/nowhere/python\": install Python 3.11 or later, or name one"
  ],
  ["--backend torch --executor threads:2", "--executor cannot be used with --backend torch, because each worker"],
  ["--lora-rank 129", "--lora-rank is 129, expected a whole number from 1 to 128"],
  ["--load-checkpoint-path runs/none", "--load-checkpoint-path runs/none: neither the folder of a run"],
  ["--max-tokens 1152", "--max-tokens is 1152, expected less than the context of 1152 tokens"]
]

describe("before it begins, train refuses", () => {
  it.effect.each(files)("a file with %s", ([, lines, message]) =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      const data = yield* problems(lines)
      refused(
        yield* run("train", "gsm8k", "--model", "effect-rl/tiny-64", "--data", data, "--log-path", folder),
        message
      )
      assert.isFalse(yield* exists(folder), "nothing is left behind")
    }).pipe(withFiles))

  it.effect.each(flags)("%s", ([flag, message]) =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      const args = ["train", "arithmetic", "--model", "effect-rl/tiny-64", ...flag.split(" ")]
      refused(yield* run(...args, "--log-path", folder), message)
      assert.isFalse(yield* exists(folder), "nothing is left behind")
      refused(yield* run(...args, "--log-path", folder, "--plan"), message)
    }).pipe(withFiles))
})

describe("as a run's folder, or in it, train refuses", () => {
  const twoIterations = [...short, "--iterations", "2", "--log-path"]

  it.effect("a path that is a file", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      yield* FileSystem.FileSystem.use((fs) => fs.writeFileString(folder, "notes"))
      refused(yield* run(...twoIterations, folder), `${folder}: it is in the way: remove it or choose another place`)
    }).pipe(withFiles))

  it.effect("another writer, named by its process id", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      yield* Effect.gen(function*() {
        const ran = yield* run(...twoIterations, folder)
        refused(ran, `${folder}: in use by process ${process.pid} on`)
        refused(ran, `Wait for it, end it (kill ${process.pid}), or choose another run directory`)
      }).pipe(Effect.provide(RunDirectory.layer(folder), { local: true }))
      assert.isTrue(Exit.isSuccess((yield* run(...twoIterations, folder)).exit))
    }).pipe(withFiles))

  it.effect("unreadable records", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      yield* run(...twoIterations, folder)
      const fs = yield* FileSystem.FileSystem
      const records = yield* fs.readFileString(`${folder}/records.jsonl`)
      yield* fs.writeFileString(`${folder}/records.jsonl`, records.replace("{", "["))
      refused(yield* run(...twoIterations, folder), "records.jsonl, line 1")
    }).pipe(withFiles))

  it.effect("a truncated checkpoint, and resumes from the previous one after its removal", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* runFolder
      const args =
        "train arithmetic --model effect-rl/tiny-64 --groups-per-batch 1 --max-tokens 4 --eval-every 0 --save-every 1"
      const train = (iterations: string) => run(...args.split(" "), "--iterations", iterations, "--log-path", folder)
      yield* train("2")
      const checkpoint = `${folder}/checkpoints/tiny-64-1/weights/final`
      const weights = `${checkpoint}/adapter_model.safetensors`
      yield* fs.truncate(weights, 10_000)
      const broken = yield* train("3")
      refused(broken, `checkpoint final cannot be resumed from: ${weights}: tensor `)
      refused(broken, "to continue from the checkpoint before it")
      yield* fs.remove(checkpoint, { recursive: true })
      const { exit, out } = yield* train("3")
      assert.isTrue(Exit.isSuccess(exit))
      assert.isTrue(out.some((line) => line.includes(`resuming the run in ${folder} after 1 of 3 iterations`)))
    }).pipe(withFiles))
})
