import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import * as CommandLine from "../CommandLine.ts"

const { run, runFolder } = CommandLine

const iterationOf = (recipe: string, ...args: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const folder = yield* runFolder
    const { errors, exit, out } = yield* run("train", recipe, "--log-path", folder, ...args)
    assert.deepStrictEqual([Exit.isSuccess(exit), errors], [true, []])
    return out.join("\n")
  })

const small = ["--backend", "engine", "--model", "effect-rl/tiny-64", "--iterations", "2", "--workers", "2"]

const plan = ["--backend", "mock", "--iterations", "3", "--plan"]

describe("effect-rl train supervised", () => {
  it.effect("trains on worked sums, and measures the likelihood of held-out ones", () =>
    Effect.gen(function*() {
      const out = yield* iterationOf(
        "supervised",
        ...small,
        "--batch-size",
        "16",
        "--max-tokens",
        "1",
        "--eval-every",
        "2"
      )
      const nll = [...out.matchAll(/held_out_examples after \d iterations?: NLL ([\d.]+) nats/g)].map(([, nll]) =>
        Number(nll)
      )
      assert.lengthOf(nll, 2)
      assert.isBelow(nll[1] ?? NaN, nll[0] ?? NaN)
      assert.match(out, /iteration 2\/2 {2}NLL \d\.\d+ nats/)
      assert.match(out, /held_out after 2 iterations: 0\.0 % of 512 correct/)
    }))

  it.effect("plans its examples, and the forward passes over held-out ones", () =>
    Effect.gen(function*() {
      const out = yield* iterationOf("supervised", ...plan, "--batch-size", "16")
      assert.include(out, "3 iterations of 16 examples\n")
      assert.match(out, /at most \d.* tokens: \d.* prefilled, \d.* sampled, \d.* trained/)
    }))
})

describe("effect-rl train dpo", () => {
  it.effect("trains on right and wrong sums, and measures held-out preferences", () =>
    Effect.gen(function*() {
      const out = yield* iterationOf("dpo", ...small, "--batch-size", "8", "--max-tokens", "1", "--eval-every", "2")
      const margins = [...out.matchAll(/held_out_preferences after \d iterations?: margin (-?[\d.]+) nats/g)]
        .map(([, margin]) => Number(margin))
      assert.lengthOf(margins, 2)
      assert.isAbove(margins[1] ?? NaN, margins[0] ?? NaN)
      assert.match(out, /iteration 1\/2 {2}reward margin -?0\.000/)
      assert.match(out, /of 256 preferred \(\d+\.\d to \d+\.\d %\)/)
    }))

  it.effect("plans the reference model's tokens", () =>
    Effect.gen(function*() {
      const tokens = (out: string) => {
        const record = JSON.parse(out)
        return { trained: Number(record.trained), prefilled: Number(record.prefilled) }
      }
      const { prefilled, trained } = tokens(yield* iterationOf("dpo", ...plan, "--eval-every", "0", "--json"))
      assert.isAbove(trained, 0)
      assert.strictEqual(prefilled, trained)
    }))
})

describe("effect-rl train on-policy-distill", () => {
  it.effect("trains a student on its own answers, graded by its teacher", () =>
    Effect.gen(function*() {
      const out = yield* iterationOf(
        "on-policy-distill",
        ...small,
        "--groups-per-batch",
        "4",
        "--max-tokens",
        "8",
        "--eval-every",
        "0"
      )
      assert.match(out, /iteration 2\/2 {2}reward .* teacher KL -?\d\.\d+ nats/)
    }))

  it.effect("names a teacher that the backend does not have", () =>
    Effect.gen(function*() {
      const { errors, exit } = yield* run(
        "train",
        "on-policy-distill",
        ...small,
        "--teacher",
        "nobody",
        "--log-path",
        yield* runFolder
      )
      assert.isTrue(Exit.isFailure(exit))
      assert.include(errors.join("\n"), "nobody")
    }))

  const otherTokens = ["--model", "effect-rl/tiny-tasks", "--workers", "1", "--iterations", "1", "--eval-every", "0"]

  it.effect("learns from a teacher with another tokenizer", () =>
    Effect.gen(function*() {
      const lengths = ["--groups-per-batch", "4", "--max-tokens", "8"]
      const out = yield* iterationOf("on-policy-distill", ...otherTokens, ...lengths)
      assert.match(out, /iteration 1\/1 {2}reward .* teacher KL -?\d+\.\d+ nats/)
    }))

  it.effect("learns from a checkpoint with another tokenizer", () =>
    Effect.gen(function*() {
      const teacher = yield* runFolder
      const few = ["--iterations", "1", "--batch-size", "8", "--eval-every", "0", "--workers", "1"]
      const { exit } = yield* run("train", "supervised", ...few, "--log-path", teacher)
      assert.isTrue(Exit.isSuccess(exit))
      const lengths = ["--groups-per-batch", "4", "--max-tokens", "8"]
      const out = yield* iterationOf("on-policy-distill", ...otherTokens, ...lengths, "--teacher", teacher)
      assert.match(out, /iteration 1\/1 {2}reward .* teacher KL -?\d+\.\d+ nats/)
    }))

  it.effect("uses a teacher with another tokenizer beside one with the student's", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      const sized = [...otherTokens, "--prompts", "made-up", "--groups-per-batch", "2", "--max-tokens", "8"]
      const teachers = ["--math-teacher", "effect-rl/tiny-128", "--chat-teacher", "effect-rl/tiny-tasks"]
      const { exit } = yield* run("train", "multi-teacher", ...sized, ...teachers, "--log-path", folder)
      assert.isTrue(Exit.isSuccess(exit))
    }))

  it.effect("imitates the answers of a teacher with another tokenizer", () =>
    Effect.gen(function*() {
      const sized = [...otherTokens, "--batch-size", "8", "--max-tokens", "8", "--teacher", "effect-rl/tiny-128"]
      const out = yield* iterationOf("prompt_distillation", ...sized)
      assert.match(out, /iteration 1\/1 {2}NLL \d\.\d+ nats/)
    }))
})
