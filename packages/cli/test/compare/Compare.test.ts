import * as CompareText from "@effect-rl/cli/compare/CompareText"
import * as Style from "@effect-rl/cli/terminal/Style"
import { RunStore } from "@effect-rl/core"
import { RunDirectory } from "@effect-rl/files"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import * as CommandLine from "../CommandLine.ts"
import * as EarlierRuns from "../fixtures/EarlierRuns.ts"

const { run, runFolder, short } = CommandLine

/** Trains a run that is evaluated before and after its only iteration. */
const trained = Effect.fnUntraced(function*(...flags: ReadonlyArray<string>) {
  const folder = yield* runFolder
  yield* run(...short.slice(0, -1), "1", "--iterations", "1", "--log-path", folder, ...flags)
  return folder
})

const spent = { prefilled: 10, sampled: 20, trained: 30, seconds: 4 }

interface Recorded {
  /** The tag of the problems. */
  readonly tag?: string
  /** Iterations after which the run was evaluated. */
  readonly evaluated: ReadonlyArray<number>
}

/** Writes a run with three held-out problems, one of which is solved. */
const record = (folder: string, { evaluated, tag = "sums" }: Recorded) =>
  Effect.gen(function*() {
    const { append } = yield* RunStore.RunStore
    yield* append({
      _tag: "Opened",
      program: "rl",
      version: "0",
      identity: {},
      settings: {},
      capabilities: {},
      iteration: 0,
      iterations: null,
      resumedFrom: null,
      continuesAfter: -1,
      warnings: []
    })
    for (const iteration of evaluated) {
      const at = { iteration, step: iteration, evaluator: "held_out", spent }
      if (iteration > 0) {
        yield* append({ _tag: "Updated", iteration: iteration - 1, metrics: {}, updates: [], spent })
      }
      for (const [key, reward] of [0, 0, 1].entries()) {
        yield* append({
          _tag: "GroupRolledOut",
          ...at,
          key: String(key),
          tags: [tag],
          outcome: "Completed",
          rewards: [reward],
          members: [null],
          failures: [],
          retries: 0,
          milliseconds: 1
        })
      }
      yield* append({ _tag: "Evaluated", ...at, metrics: {}, seconds: 1 })
    }
  }).pipe(Effect.provide(RunDirectory.layer(folder)), Effect.provide(NodeServices.layer))

const recorded = Effect.fnUntraced(function*(options: Recorded) {
  const folder = yield* runFolder
  yield* record(folder, options)
  return folder
})

describe("effect-rl compare", () => {
  it.effect("shows the verdict, the paired difference, how far each run was trained, and the divergence", () =>
    Effect.gen(function*() {
      const [left, right] = [yield* trained(), yield* trained("--seed", "1")]
      const { exit, out } = yield* run("compare", left, right)
      assert.isTrue(Exit.isSuccess(exit))
      const text = out.slice(out.findIndex((line) => line.startsWith("held_out  "))).join("\n")
      assert.match(text, /^held_out {2}no clear difference: the interval contains 0\n {2}difference/)
      assert.match(
        text,
        /difference +[+-]?0\.\d{3}, 95 % interval [+-]?0\.\d{3} to [+-]?0\.\d{3}, about these runs alone/
      )
      assert.match(
        text,
        /0\.\d{3} after 1 iteration, [\d,]+ tokens, [\d.]+ s\n.*0\.\d{3} after 1 iteration, [\d,]+ tokens/
      )
      assert.match(text, /problems +512 of both: \d+ better, \d+ worse, \d+ the same/)
      assert.match(text, /configured differently\n(?: {2}.*\n)* {2}seed +0 +1\n/)
      assert.match(text, /first difference {2}.*iteration 1/)
    }))

  it.effect("gives no verdict if one run was trained further, unless both are compared at an equal point", () =>
    Effect.gen(function*() {
      const [left, right] = [yield* recorded({ evaluated: [0, 1] }), yield* recorded({ evaluated: [0, 1, 2] })]
      const { out } = yield* run("compare", left, right, "--json")
      assert.include(out.join("\n"), "\"better\":null,\"text\":\"no verdict: ")
      const even = yield* run("compare", left, right, "--at", "iteration")
      assert.isTrue(even.out.some((line) => line.startsWith("held_out  no clear difference after 1 iteration: ")))
    }))

  it("cuts long values around their difference", () => {
    const dataset = (group: number) => `boxed-addition-below-100/9489-pairs/32x${group}, each of them twice a day`
    const differences = [{ field: "dataset", left: dataset(16), right: dataset(8) }]
    const [, line = ""] = CompareText.configuration(differences, Style.plain)
    assert.match(line, /^ {2}dataset {2}… .*\/32x16, .* … {2}… .*\/32x8, .* …$/)
  })

  it("shows four digits of fractions, or all digits if only later ones differ", () => {
    const text = CompareText.configuration([
      { field: "loss", left: -613.1124949455261, right: 12 },
      { field: "rate", left: 0.12345678, right: 0.12345679 }
    ], Style.plain).join("\n")
    assert.match(text, /loss {2}-613\.1 +12/)
    assert.match(text, /rate {2}0\.12345678 +0\.12345679/)
  })

  it.effect("accepts several seeds per side, separated by commas or as a sweep's folder", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      for (const seed of [0, 1]) yield* record(`${folder}/seed-${seed}`, { evaluated: [1] })
      const { out } = yield* run("compare", `${folder}/seed-0,${folder}/seed-1`, folder)
      assert.isTrue(out.some((line) => /difference +0\.000, .* about other seeds too$/.test(line)))
      assert.strictEqual(out.filter((line) => line.includes(" 2 seeds, after 1 iteration, 60 tokens, 4 s")).length, 2)
    }))

  it.effect("compares supervised runs by held-out loss, and preference runs by margin", () =>
    Effect.gen(function*() {
      const folder = yield* EarlierRuns.folder
      const supervised = yield* run("compare", `${folder}/supervised`, `${folder}/supervised`)
      assert.include(supervised.out, "held_out_examples nll  no difference")
      const of = supervised.out.filter((line) => /supervised +0\.\d{3} after \d+ iterations, /.test(line))
      assert.strictEqual(of.length, 4)
      const preferred = yield* run("compare", `${folder}/dpo`, `${folder}/dpo`, "--json")
      const losses = preferred.out.filter((line) => line.startsWith("{\"type\":\"losses\""))
      assert.deepStrictEqual(losses.map((line) => JSON.parse(line).metric), ["margin"])
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("refuses runs of different tasks, and folders without a run", () =>
    Effect.gen(function*() {
      const [sums, other] = [yield* recorded({ evaluated: [0] }), yield* recorded({ evaluated: [0], tag: "format" })]
      const unrelated = yield* run("compare", sums, other)
      assert.isTrue(Exit.isFailure(unrelated.exit))
      assert.match(unrelated.errors.at(-1) ?? "", /cannot be compared: they have no held-out problem in common/)
      const empty = yield* run("compare", sums, `${sums}/nothing`)
      assert.isTrue(Exit.isFailure(empty.exit))
      assert.include(empty.errors.at(-1), "neither the folder of a run, with records.jsonl, nor of a sweep")
    }))

  it.effect("says that there is nothing to compare without evaluations", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      yield* run(...short, "--iterations", "1", "--log-path", folder)
      const { errors, exit } = yield* run("compare", folder, folder)
      assert.isTrue(Exit.isFailure(exit))
      assert.include(errors.at(-1), "no evaluator has measured both")
    }))
})
