import { ListPrograms } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as CommandLine from "../CommandLine.ts"

const heldOut = ListPrograms.heldOut.length

describe("effect-rl validate code_rl, in the sandbox of this machine", () => {
  it.live(
    "rewards each reference program with 1, and an empty program with 0",
    () =>
      Effect.gen(function*() {
        const { errors, exit, out } = yield* CommandLine.run("validate", "code_rl", "--limit", "2")
        assert.isTrue(Exit.isSuccess(exit), [...out, ...errors].join("\n"))
        assert.deepStrictEqual(out, [
          "training: 2 of 2 problems right with the reference answer",
          `held_out: ${heldOut} of ${heldOut} problems right with the reference answer`,
          "training: 0 of 2 problems right with an empty answer",
          `held_out: 0 of ${heldOut} problems right with an empty answer`
        ])
      }),
    300_000
  )

  it.live(
    "checks problems that are only for evaluation, and empty answers to problems without a solution",
    () =>
      Effect.gen(function*() {
        const folder = mkdtempSync(join(tmpdir(), "problems-"))
        const write = (split: string, ...rows: ReadonlyArray<unknown>) =>
          writeFileSync(join(folder, `${split}.jsonl`), rows.map((row) => JSON.stringify(row)).join("\n"))
        const validate = (problems: string) =>
          Effect.map(
            CommandLine.run("validate", "code_rl", "--problems", problems, "--data", folder),
            ({ errors, exit, out }) => {
              assert.isTrue(Exit.isSuccess(exit), [...out, ...errors].join("\n"))
              return out
            }
          )
        const identity = {
          task_id: "HumanEval/0",
          prompt: "def f(x):\n",
          canonical_solution: "    return x\n",
          test: "def check(candidate):\n    assert candidate(1) == 1\n",
          entry_point: "f"
        }
        write("test", identity)
        assert.deepStrictEqual(yield* validate("humaneval"), [
          "held_out: 1 of 1 problems right with the reference answer",
          "held_out: 0 of 1 problems right with an empty answer"
        ])
        const tests = [{ input: "2 3", output: "5", testtype: "stdin_stdout" }]
        write("train", { problem: "Add.", tests, solutions: ["print(sum(map(int, input().split())))"] })
        write("test", { problem: "Add two numbers.", tests })
        assert.deepStrictEqual(yield* validate("deepcoder"), [
          "training: 1 of 1 problems right with the reference answer",
          "held_out: 0 of 0 problems right with the reference answer; 1 have no reference answer",
          "training: 0 of 1 problems right with an empty answer",
          "held_out: 0 of 1 problems right with an empty answer"
        ])
      }),
    60_000
  )
})
