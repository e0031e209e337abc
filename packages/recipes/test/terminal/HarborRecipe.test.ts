import { HarborRecipe } from "@effect-rl/recipes"
import { Sandbox, Scripted } from "@effect-rl/sandbox"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import * as TestModel from "../TestModel.ts"

const tasks = new URL("../fixtures/harbor", import.meta.url).pathname

const sandbox = Sandbox.Sandbox.layerScripted({ run: () => Effect.succeed(Scripted.printed("")) })

const build = Effect.fnUntraced(function*(options: Partial<HarborRecipe.Options> = {}) {
  const recipe = HarborRecipe.make({ name: "chores", tasks, images: ["debian:12-slim"], ...options })
  const { build } = yield* recipe.configure({ iterations: 2, groupsPerBatch: 2, groupSize: 1 })
  return yield* build(yield* TestModel.model)
})

layer(Layer.merge(NodeServices.layer, sandbox))("a recipe of tasks in Harbor's format", (it) => {
  it.effect("never trains on evaluation tasks", () =>
    Effect.gen(function*() {
      const { dataset, evaluators } = yield* build({ heldOut: 1 })
      const keys = new Set<string>()
      for (let index = 0; index < dataset.length; index++) {
        for (const { key } of yield* dataset.batch(index, 0)) keys.add(key)
      }
      assert.strictEqual(keys.size, 2)
      assert.strictEqual(evaluators.length, 1)
    }))

  it.effect("gives the reference solution as a command, and then a final answer", () =>
    Effect.gen(function*() {
      const { answerTo } = yield* build()
      const prompt = "Write the line `hello` to the file `greeting.txt`, and nothing else."
      const command = "#!/bin/bash\necho hello > greeting.txt\n"
      assert.deepStrictEqual(
        answerTo(prompt),
        Option.some(`<tool_call>\n${JSON.stringify({ name: "bash", arguments: { command } })}\n</tool_call>`)
      )
      assert.deepStrictEqual(answerTo(`${prompt}\n<tool_response>\n{}\n</tool_response>`), Option.some("Done."))
      assert.deepStrictEqual(answerTo("Something else."), Option.none())
    }))

  it.effect("refuses to hold out every task", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(build({ heldOut: 3 }))
      assert.include(
        String(error),
        "heldOut is 3, expected fewer than the 3 tasks, so at least one is left to train on"
      )
    }))

  it.effect("names the Docker image that a task needs if the sandbox lacks it", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(build({ images: [] }))
      assert.include(String(error), "repair-script: needs the Docker image debian:12-slim")
    }))

  it.effect("fails before sampling if a task has MCP servers and the sandbox cannot start any", () =>
    Effect.gen(function*() {
      const served = new URL("../fixtures/harbor-servers", import.meta.url).pathname
      const error = yield* Effect.flip(build({ tasks: served }))
      assert.include(
        String(error),
        "start is not supported: the task take-tickets has MCP servers, which need long-running processes"
      )
    }))

  it.effect("fails before sampling if the sandbox has no shell", () =>
    Effect.gen(function*() {
      const place = yield* Sandbox.Sandbox
      const python = { ...place, capabilities: { ...place.capabilities, runtimes: ["python" as const] } }
      const error = yield* Effect.flip(Effect.provideService(build(), Sandbox.Sandbox, python))
      assert.include(String(error), "terminal tasks need a shell and folders at absolute paths")
    }))
})
