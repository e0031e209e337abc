/** `--durable` is refused if workers cannot drive the run. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as CommandLine from "../CommandLine.ts"

const database = "postgres://trainer@localhost/runs"

const refusals: ReadonlyArray<readonly [what: string, args: ReadonlyArray<string>, detail: string]> = [
  ["without an executor", [], "--executor names no database"],
  ["with threads as executor", ["--executor", "threads:2"], "--executor names no database"],
  ["with a backend that its workers do not share", ["--executor", database], "workers do not share --backend mock"]
]

describe("a durable run", () => {
  it.effect.each(refusals)("is refused %s", ([, args, detail]) =>
    Effect.gen(function*() {
      const folder = yield* CommandLine.runFolder
      const { errors } = yield* CommandLine.run(...CommandLine.short, "--durable", "--log-path", folder, ...args)
      assert.deepStrictEqual(errors, [`error: --durable is not for this run: ${detail}`])
    }))
})
