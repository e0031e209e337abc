import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as CommandLine from "../CommandLine.ts"

const { run, runFolder } = CommandLine

/** Two problems per iteration on the mock backend, evaluated before and after. */
const flags = [
  "--backend",
  "mock",
  "--groups-per-batch",
  "2",
  "--group-size",
  "4",
  "--iterations",
  "1",
  "--eval-every",
  "1"
]

describe("effect-rl sweep", () => {
  it.effect("trains each configuration in its own folder, ranks them, and skips finished ones the second time", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      const args = [...flags, "--over", "temperature=1,0.5", "--set", "allowBiased=true", "--log-path", folder]
      const { errors, exit, out } = yield* run("sweep", "arithmetic", ...args)
      assert.isTrue(Exit.isSuccess(exit), errors.join("\n"))
      assert.deepStrictEqual(readdirSync(folder).toSorted(), ["temperature=0.5", "temperature=1"])
      const config = JSON.parse(readFileSync(join(folder, "temperature=0.5/seed-0/config.json"), "utf8"))
      assert.strictEqual(config.identity.temperature, 0.5)
      const board = out.slice(out.indexOf("leaderboard"))
      assert.match(board[1] ?? "", /^ +configuration +\S+ +95 % +seeds +folder$/)
      assert.match(board[2] ?? "", /^1 +temperature=\S+ +\d\.\d{3} +± \d\.\d{3} +1 +/)
      const again = yield* run("sweep", "arithmetic", ...args)
      assert.isTrue(Exit.isSuccess(again.exit), again.errors.join("\n"))
      assert.deepStrictEqual(again.out.slice(-board.length), board)
      const compared = yield* run("compare", join(folder, "temperature=1"), join(folder, "temperature=0.5"))
      assert.isTrue(Exit.isSuccess(compared.exit), compared.errors.join("\n"))
    }))
})
