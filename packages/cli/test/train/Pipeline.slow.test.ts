/** Tests pipelines: each stage is a run in its own folder that starts from checkpoints of earlier stages. */
import { RunRecord } from "@effect-rl/core"
import { RunDirectory } from "@effect-rl/files"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Path, Stream } from "effect"
import { fileURLToPath } from "node:url"
import * as CommandLine from "../CommandLine.ts"
import { launch } from "../Launch.ts"

const { run, runFolder } = CommandLine

const brief = [
  "train",
  "rlhf",
  "--supervised-iterations",
  "2",
  "--preference-iterations",
  "12",
  "--groups-per-batch",
  "4",
  "--max-tokens",
  "8",
  "--workers",
  "2"
]

/** A stage's records that count. */
const story = Effect.fnUntraced(function*(folder: string, stage: string) {
  const path = yield* Path.Path
  const { read } = yield* RunDirectory.open(path.join(folder, stage))
  return RunRecord.current(yield* Stream.runCollect(read))
}, Effect.provide(NodeServices.layer))

const trained = (folder: string, ...flags: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const { errors, exit, out } = yield* run(...brief, "--log-path", folder, ...flags)
    assert.deepStrictEqual([Exit.isSuccess(exit), errors], [true, []])
    return out.join("\n")
  })

describe("effect-rl train rlhf", () => {
  it.effect("starts each stage from earlier checkpoints, and resumes an unfinished stage", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      const out = yield* trained(folder, "--rl-iterations", "2")
      assert.include(out, "stage 3 of 3: preference-rl")
      assert.match(out, /\nstage +evaluator +before +after\nsupervised +held_out \(512\) /)
      assert.match(out, /\npreference-model +held_out_comparisons \(256\) /)

      const saved = (records: ReadonlyArray<RunRecord.RunRecord>) => records.findLast(RunRecord.guards.Saved)
      const supervised = saved(yield* story(folder, "supervised"))
      const judge = saved(yield* story(folder, "preference-model"))
      const [opened] = (yield* story(folder, "preference-rl")).filter(RunRecord.guards.Opened)
      assert.strictEqual(opened?.identity["load_checkpoint_path"], supervised?.statePath)
      assert.include(String(opened?.identity["dataset"]), String(judge?.samplerPath))
      assert.deepInclude(opened?.identity["kl"], { reference: supervised?.samplerPath })

      const again = yield* trained(folder, "--rl-iterations", "3")
      assert.include(again, "after 2 of 3 iterations")
      const updates = (yield* story(folder, "preference-rl")).filter(RunRecord.guards.Updated)
      assert.deepStrictEqual(updates.map(({ iteration }) => iteration), [0, 1, 2])
      assert.lengthOf((yield* story(folder, "supervised")).filter(RunRecord.guards.Updated), 2)
    }))

  it.effect("plans every stage", () =>
    Effect.gen(function*() {
      const out = yield* trained(yield* runFolder, "--rl-iterations", "2", "--plan", "--backend", "mock")
      assert.match(
        out,
        /stage 1 of 3[^]*2 iterations of 64 examples[^]*12 iterations of 32[^]*2 iterations of 4 problems/
      )
    }))

  it.effect("refuses an unknown setting, by its flag", () =>
    Effect.gen(function*() {
      const { errors, exit } = yield* run(...brief, "--group-size", "1")
      assert.isTrue(Exit.isFailure(exit))
      assert.include(errors.join("\n"), "--group-size is 1, expected a whole number of at least 2")
    }))
})

const own = ["train", fileURLToPath(new URL("./own-pipeline.ts", import.meta.url)), "--workers", "2"]

/** The results of each iteration of a stage. */
const numbers = (records: ReadonlyArray<RunRecord.RunRecord>) =>
  records.filter(RunRecord.guards.Updated).map(({ metrics, reward }) => [metrics["nll"], reward?.mean])

describe("effect-rl train ./pipeline.ts", () => {
  it.live("saves when Ctrl-C ends a stage, and resumes there exactly", () =>
    Effect.gen(function*() {
      const [folder, whole] = [yield* runFolder, yield* runFolder]
      const cut = yield* launch([...own, "--log-path", folder], {
        env: { HOLD: "1" },
        acts: [{ when: "iteration 2/6", act: "SIGINT" }]
      })
      assert.deepStrictEqual([cut.code, cut.errors], [130, ""])
      assert.include(cut.out, `what is saved is kept in ${folder}/imitate`)
      assert.notInclude(cut.out, "stage 2 of 2")

      const resumed = yield* launch([...own, "--log-path", folder])
      assert.deepStrictEqual([resumed.code, resumed.errors], [0, ""])
      const records = yield* story(folder, "imitate")
      const interrupted = records.filter(RunRecord.guards.Saved).find(({ kind }) => kind === "interrupted")
      assert.include(
        resumed.out,
        `resuming the run in ${folder}/imitate after ${interrupted?.iteration} of 6 iterations`
      )

      yield* launch([...own, "--log-path", whole])
      for (const stage of ["imitate", "reward"]) {
        assert.deepStrictEqual(numbers(yield* story(folder, stage)), numbers(yield* story(whole, stage)), stage)
      }
    }))

  it.effect("trains several seeds, and shows each stage's results over all of them", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      const { errors, exit, out } = yield* run(...own, "--seed", "5", "--seeds", "2", "--log-path", folder)
      assert.deepStrictEqual([Exit.isSuccess(exit), errors], [true, []])
      assert.match(
        out.join("\n"),
        /the stages over 2 seeds\nstage +evaluator +before +after +least +greatest\nimitate +held_out +0\.0 % /
      )
      for (const seed of [5, 6]) {
        const [opened] = (yield* story(`${folder}/seed-${seed}`, "reward")).filter(RunRecord.guards.Opened)
        assert.strictEqual(opened?.identity["seed"], seed)
      }
    }))

  it.effect("plans the stages", () =>
    Effect.gen(function*() {
      const { errors, exit, out } = yield* run(...own, "--plan", "--log-path", yield* runFolder)
      assert.deepStrictEqual([Exit.isSuccess(exit), errors], [true, []])
      assert.match(out.join("\n"), /stage 1 of 2: imitate[^]*6 iterations of 4 examples[^]*stage 2 of 2: reward/)
    }))
})

describe("effect-rl train distill", () => {
  it.effect("trains a student on the model of an earlier stage, whatever its tokenizer", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      const short = ["--teacher-iterations", "2", "--iterations", "1", "--max-tokens", "8"]
      const { errors, exit, out } = yield* run(
        "train",
        "distill",
        "--model",
        "effect-rl/tiny-tasks",
        ...short,
        "--log-path",
        folder
      )
      assert.deepStrictEqual([Exit.isSuccess(exit), errors], [true, []])
      assert.match(
        out.join("\n"),
        /\nstage +evaluator +before +after\nteacher +held_out \(512\) .*\nstudent +held_out /
      )
      const teacher = (yield* story(folder, "teacher")).findLast(RunRecord.guards.Saved)
      const [opened] = (yield* story(folder, "student")).filter(RunRecord.guards.Opened)
      assert.include(JSON.stringify(opened?.identity["credit"]), String(teacher?.samplerPath))
    }))
})

describe("effect-rl train preference-rl", () => {
  it.effect("names a missing preference model", () =>
    Effect.gen(function*() {
      const missing = "tinker://nobody/sampler_weights/nothing"
      const { errors, exit } = yield* run(
        "train",
        "preference-rl",
        "--preference-model",
        missing,
        "--log-path",
        yield* runFolder
      )
      assert.isTrue(Exit.isFailure(exit))
      assert.include(errors.join("\n"), missing)
    }))
})
