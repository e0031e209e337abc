import * as SeedSweep from "@effect-rl/cli/train/SeedSweep"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as CommandLine from "../CommandLine.ts"

const { run, runFolder, short } = CommandLine

const history = (...rewards: ReadonlyArray<number>) => ({
  rewards: rewards.map((reward, iteration) => ({ iteration, reward, rewardStandardError: undefined }))
})

describe("SeedSweep.band", () => {
  it("has mean, deviation and extremes of the iterations that all seeds have", () => {
    assert.deepStrictEqual(SeedSweep.band([history(0, 1), history(0.5, 1, 1), history(1, 1)]), [
      { iteration: 0, mean: 0.5, deviation: 0.5, least: 0, greatest: 1 },
      { iteration: 1, mean: 1, deviation: 0, least: 1, greatest: 1 }
    ])
  })
})

describe("effect-rl train --seeds", () => {
  it.effect("trains each seed in its own folder, and shows the spread per iteration, counted from 1", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      const { exit, out } = yield* run(
        ...short,
        "--iterations",
        "2",
        "--seed",
        "3",
        "--seeds",
        "2",
        "--log-path",
        folder
      )
      assert.isTrue(Exit.isSuccess(exit))
      assert.deepStrictEqual(readdirSync(folder).toSorted(), ["seed-3", "seed-4"])
      const start = out.indexOf("mean reward over 2 seeds")
      assert.isAbove(start, 0)
      const table = out.slice(start).filter((line) => /^(iteration|\d+) /.test(line))
      assert.match(table[0] ?? "", /^iteration +mean reward +± between seeds +least +greatest$/)
      assert.strictEqual(out[start + 1], "▁▁")
      assert.match(table[1] ?? "", /^1 +0\.500 +0\.000 +0\.500 +0\.500$/)
    }))

  it.effect("refuses a sweep over one seed", () =>
    Effect.gen(function*() {
      const { errors, exit } = yield* run(...short, "--seeds", "1")
      assert.isTrue(Exit.isFailure(exit))
      assert.include(errors.join("\n"), "a whole number of at least 2")
    }))
})

describe("effect-rl train --set", () => {
  it.effect("takes settings by name, which flags override", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      yield* run(...short, "--log-path", folder, "--set", "iterations=1", "--set", "groupSize=6", "--set", "seed=5")
      const config = JSON.parse(readFileSync(join(folder, "config.json"), "utf8"))
      assert.strictEqual(config.settings.iterations, 1)
      assert.strictEqual(config.seed, 5)
      assert.match(config.identity.dataset, /x4$/)
    }))

  it.effect("names an unknown setting", () =>
    Effect.gen(function*() {
      const { errors, exit } = yield* run(...short, "--set", "groupSise=6")
      assert.isTrue(Exit.isFailure(exit))
      assert.include(errors.at(-1), "groupSise")
    }))
})
