import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as CommandLine from "../CommandLine.ts"

const { run, runFolder } = CommandLine

const recipe = fileURLToPath(new URL("failing-recipe.ts", import.meta.url))

const why = /iteration 2, group "[^"]+", member 1: no answer from judge\.example/

describe("a run whose rollout fails", () => {
  it.effect("names iteration, group and member on the terminal, in run.log and in show", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      const { errors, exit } = yield* run("train", recipe, "--backend", "mock", "--log-path", folder)
      assert.isTrue(Exit.isFailure(exit))
      assert.match(errors.join("\n"), why)
      assert.match(readFileSync(join(folder, "run.log"), "utf8"), why)
      const { out } = yield* run("show", folder)
      assert.match(out.join("\n"), /JudgeDown in iteration 2, group "[^"]+", member 1: no answer from judge\.example/)
    }))
})

describe("a run", () => {
  it.effect("records its command, its machine, and each setting with its default", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      yield* run("train", recipe, "--backend", "mock", "--log-path", folder, "--iterations", "1", "--group-size", "4")
      const [opened = ""] = readFileSync(join(folder, "records.jsonl"), "utf8").split("\n")
      const { launch } = JSON.parse(opened)
      assert.strictEqual(launch.recipe, "failing")
      assert.strictEqual(
        launch.command.replace(/^.*? train /, ""),
        `${recipe} --backend mock --log-path ${folder} --iterations 1 --group-size 4`
      )
      assert.strictEqual(launch.versions.node, process.versions.node)
      assert.isAbove(launch.machine.memory, 2 ** 20)
      const setting = (name: string) =>
        launch.settings.find((setting: { readonly name: string }) => setting.name === name)
      assert.deepInclude(setting("groupSize"), { value: 4, default: 2 })
      assert.deepInclude(setting("maxTokens"), { value: 16, default: 16, unit: "tokens" })
    }))
})
