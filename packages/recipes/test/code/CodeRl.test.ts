import { Hub } from "@effect-rl/files"
import { ListPrograms, Recipes } from "@effect-rl/recipes"
import { Sandbox, Scripted } from "@effect-rl/sandbox"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Option } from "effect"
import * as TestModel from "../TestModel.ts"

const noHub = Layer.succeed(
  Hub.Hub,
  Hub.Hub.of({ commit: () => Effect.die("asks the hub"), file: () => Effect.die("asks the hub") })
)

const sandbox = Sandbox.Sandbox.layerScripted({ run: () => Effect.succeed(Scripted.printed("")) })

const build = Effect.fnUntraced(function*(settings: Readonly<Record<string, unknown>>) {
  const { build } = yield* Recipes.codeRl.configure({ iterations: 2, groupsPerBatch: 8, ...settings })
  return yield* build(yield* TestModel.model)
})

layer(Layer.mergeAll(NodeFileSystem.layer, NodePath.layer, noHub, sandbox))("the recipe code_rl", (it) => {
  it.effect("never trains on problems of the evaluation", () =>
    Effect.gen(function*() {
      const { dataset } = yield* build({ problems: "programs" })
      const heldOut = new Set(ListPrograms.heldOut.map(({ id }) => id))
      for (let index = 0; index < dataset.length; index++) {
        for (const { key } of yield* dataset.batch(index, 3)) assert.isFalse(heldOut.has(key), key)
      }
    }))

  it.effect("knows the solutions, and the program that does nothing", () =>
    Effect.gen(function*() {
      const { answerTo, emptyAnswer } = yield* build({ problems: "programs" })
      const [task] = ListPrograms.heldOut
      assert.deepStrictEqual(
        answerTo(`user: ${task?.prompt}`),
        Option.some(`\`\`\`python\n${task?.solution}\n\`\`\``)
      )
      assert.strictEqual(emptyAnswer, "```python\n\n```")
    }))

  it.effect("refuses to train on problems that are for evaluation alone", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped()
      const row = {
        task_id: "HumanEval/0",
        prompt: "def f(x):\n",
        canonical_solution: "    return x\n",
        test: "def check(candidate):\n    assert candidate(1) == 1\n",
        entry_point: "f"
      }
      yield* fs.writeFileString(`${folder}/test.jsonl`, JSON.stringify(row))
      const { dataset, evaluators } = yield* build({ problems: "humaneval", data: folder })
      assert.strictEqual(evaluators.length, 1)
      const error = yield* Effect.flip(dataset.batch(0, 0))
      assert.include(String(error), "problems is humaneval, expected problems to train on")
    }))

  it.effect("fails where the sandbox does not run Python, before anything is sampled", () =>
    Effect.gen(function*() {
      const place = yield* Sandbox.Sandbox
      const shell = { ...place, capabilities: { ...place.capabilities, runtimes: ["shell" as const] } }
      const error = yield* Effect.flip(
        Effect.provideService(build({ problems: "programs" }), Sandbox.Sandbox, shell)
      )
      assert.include(String(error), "runtime is not supported: it does not run Python")
    }))
})
