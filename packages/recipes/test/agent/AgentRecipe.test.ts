/** An agent recipe as a user's module defines it. */
import { Rollout } from "@effect-rl/core"
import { AgentRecipe } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as TestModel from "../TestModel.ts"

const recipe = AgentRecipe.make({
  name: "asks as gpt-5",
  tasks: { train: ["Hi"], test: [] },
  defaults: { names: ["gpt-5"] },
  run: async ({ baseUrl, fetch }, content) => {
    const body = JSON.stringify({ model: "gpt-5", messages: [{ role: "user", content }] })
    const response = await fetch(`${baseUrl}/chat/completions`, { method: "POST", body })
    return response.ok ? 1 : 0
  }
})

const saying = (text: string) => {
  const tokens = TestModel.tokenizer.encode(`${text}<|im_end|>`)
  return { tokens, logprobs: new Float32Array(tokens.length).fill(-0.1), stopReason: "stop" } as const
}

const reward = Effect.fnUntraced(function*(settings: object) {
  const { build } = yield* recipe.configure(settings)
  const { dataset } = yield* build(yield* TestModel.model)
  const [builder] = yield* dataset.batch(0, 0)
  const { makeEnv } = yield* builder?.open ?? Effect.die("no group")
  const env = yield* makeEnv(0, { iteration: 0, attempt: 0, key: "0", seed: 0 })
  const policy = { act: () => Effect.succeed(saying("Hello.")) }
  const { stepReward } = yield* Rollout.episode(env, policy, { iteration: 0, group: "0", member: 0, attempt: 0 })
  return stepReward
}, Effect.scoped)

describe("AgentRecipe.make", () => {
  it.effect("uses the agent's model names as defaults, which settings can replace", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* reward({}), 1)
      assert.strictEqual(yield* reward({ names: ["gpt-6"] }), 0)
    }))
})
