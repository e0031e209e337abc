import * as CompareText from "@effect-rl/cli/compare/CompareText"
import * as Style from "@effect-rl/cli/terminal/Style"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import * as CommandLine from "../CommandLine.ts"

const { run, runFolder, short } = CommandLine

/** A run that is evaluated before and after its only iteration. */
const recorded = Effect.fnUntraced(function*(...flags: ReadonlyArray<string>) {
  const folder = yield* runFolder
  yield* run(...short.slice(0, -1), "1", "--iterations", "1", "--log-path", folder, ...flags)
  return folder
})

describe("effect-rl compare", () => {
  it.effect("tells the paired difference, what is configured differently and where the runs part", () =>
    Effect.gen(function*() {
      const [left, right] = [yield* recorded(), yield* recorded("--seed", "1")]
      const { exit, out } = yield* run("compare", left, right)
      assert.isTrue(Exit.isSuccess(exit))
      const text = out.slice(out.findIndex((line) => line.includes("problems of both"))).join("\n")
      assert.match(text, /^held_out {2}512 problems of both, /)
      assert.match(
        text,
        /difference +[+-]?0\.\d{3}, 95 % interval [+-]?0\.\d{3} to [+-]?0\.\d{3}, about these runs alone/
      )
      assert.match(text, /problems +\d+ better, \d+ worse, \d+ the same/)
      assert.match(text, /configured differently\n(?: {2}.*\n)* {2}seed +0 +1\n/)
      assert.match(text, /first difference {2}.*iteration 0/)
    }))

  it("cuts long values around what differs", () => {
    const dataset = (group: number) => `boxed-addition-below-100/9489-pairs/32x${group}, each of them twice a day`
    const differences = [{ field: "dataset", left: dataset(16), right: dataset(8) }]
    const [, line = ""] = CompareText.configuration(differences, Style.plain)
    assert.match(line, /^ {2}dataset {2}… .*\/32x16, .* … {2}… .*\/32x8, .* …$/)
  })

  it.effect("takes several seeds on each side", () =>
    Effect.gen(function*() {
      const [one, other] = [yield* recorded(), yield* recorded("--seed", "1")]
      const { out } = yield* run("compare", `${one},${other}`, `${one},${other}`)
      assert.isTrue(out.some((line) => /difference +0\.000, .* about other seeds too$/.test(line)))
    }))

  it.effect("says that there is nothing to compare without evaluations", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      yield* run(...short, "--iterations", "1", "--log-path", folder)
      const { errors, exit } = yield* run("compare", folder, folder)
      assert.isTrue(Exit.isFailure(exit))
      assert.include(errors.at(-1), "no evaluator measured both")
    }))
})
