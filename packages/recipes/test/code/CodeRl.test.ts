import { Policy, Rollout, Tinker } from "@effect-rl/core"
import { Weights } from "@effect-rl/core/backend"
import { GroupResult } from "@effect-rl/core/program"
import { Script, ScriptedTinker } from "@effect-rl/core/testing"
import { Hub } from "@effect-rl/files"
import { ListPrograms, Recipes } from "@effect-rl/recipes"
import { Sandbox, Scripted } from "@effect-rl/sandbox"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import { assert, layer } from "@effect/vitest"
import { Array as Arr, Effect, FileSystem, Layer, Option } from "effect"
import * as TestModel from "../TestModel.ts"

const noHub = Layer.succeed(
  Hub.Hub,
  Hub.Hub.of({ commit: () => Effect.die("asks the hub"), file: () => Effect.die("asks the hub") })
)

/** A model that writes a wrong program, and judges programs. */
const judging = ScriptedTinker.layer({
  tokenizer: TestModel.tokenizer,
  models: { "effect-rl/scripted": { contextLength: 8192 } },
  sample: Script.reply(TestModel.tokenizer, (prompt) =>
    Script.text(
      TestModel.tokenizer,
      `${prompt.includes("<score>") ? "<score>0.8</score>" : "```python\ndef solve(x): pass\n```"}<|im_end|>`
    ))
})

const sandbox = Sandbox.Sandbox.layerScripted({ run: () => Effect.succeed(Scripted.printed("")) })

const build = Effect.fnUntraced(function*(settings: Readonly<Record<string, unknown>>) {
  const { build } = yield* Recipes.codeRl.configure({ iterations: 2, groupsPerBatch: 8, ...settings })
  return yield* build(yield* TestModel.model)
})

layer(Layer.mergeAll(NodeFileSystem.layer, NodePath.layer, noHub, sandbox))("the recipe code_rl", (it) => {
  it.effect("never trains on evaluation problems", () =>
    Effect.gen(function*() {
      const { dataset } = yield* build({ problems: "programs" })
      const heldOut = new Set(ListPrograms.heldOut.map(({ id }) => id))
      for (let index = 0; index < dataset.length; index++) {
        for (const { key } of yield* dataset.batch(index, 3)) assert.isFalse(heldOut.has(key), key)
      }
    }))

  it.effect("gives the solution as reference answer, and an empty program as empty answer", () =>
    Effect.gen(function*() {
      const { answerTo, emptyAnswer } = yield* build({ problems: "programs" })
      const [task] = ListPrograms.heldOut
      assert.deepStrictEqual(
        answerTo(`user: ${task?.prompt}`),
        Option.some(`\`\`\`python\n${task?.solution}\n\`\`\``)
      )
      assert.strictEqual(emptyAnswer, "```python\n\n```")
    }))

  it.effect("refuses to train on problems that are only for evaluation", () =>
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

  it.effect("judges training programs by rubric too, and held-out problems only by their tests", () =>
    Effect.gen(function*() {
      const { dataset, evaluators } = yield* build({
        problems: "programs",
        judge: "Is it short?",
        judgeCoefficient: 0.5
      })
      const group = Option.getOrThrow(Arr.head(yield* dataset.batch(0, 0)))
      const client = yield* Tinker.Tinker.use(({ createSamplingClient }) =>
        createSamplingClient({ baseModel: "effect-rl/scripted" })
      )
      const policy = Policy.fromSamplingClient(client, { maxTokens: 100, seed: 0 })
      const trained = yield* Rollout.group({ ...group, size: 1 }, policy)
      if (trained._tag !== "Completed") return assert.fail(trained._tag)
      const [trajectory] = Arr.getSomes(trained.members)
      assert.closeTo(trajectory?.stepReward ?? NaN, 0.5 * 0.8, 1e-12)
      assert.deepStrictEqual(trajectory?.transitions[0]?.score?.parts, { tests: 0, "rubric 1": 0.8 })
      const [heldOut] = yield* Effect.forEach(
        evaluators,
        ({ evaluate }) => evaluate(Weights.fromSamplingClient(client))
      )
      const scores = heldOut?.groups.flatMap((group) =>
        GroupResult.isSkipped(group) ? [] : GroupResult.survivors(group).map(([, { stepReward }]) => stepReward)
      )
      assert.deepStrictEqual(scores, ListPrograms.heldOut.map(() => 0))
    }).pipe(Effect.scoped, Effect.provide(judging)))

  it.effect("refuses a judge if no model can sample", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(build({ problems: "programs", judge: "Is it short?" }))
      assert.include(String(error), "no judge, because no model can sample here")
    }))

  it.effect("fails before sampling if the sandbox does not run Python", () =>
    Effect.gen(function*() {
      const place = yield* Sandbox.Sandbox
      const shell = { ...place, capabilities: { ...place.capabilities, runtimes: ["shell" as const] } }
      const error = yield* Effect.flip(
        Effect.provideService(build({ problems: "programs" }), Sandbox.Sandbox, shell)
      )
      assert.include(String(error), "runtime is not supported: it does not run Python")
    }))
})
