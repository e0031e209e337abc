/** An agent that asks two models, only one of which is trained. */
import { Rollout, RunRecord, RunStore, Tinker } from "@effect-rl/core"
import { Usage } from "@effect-rl/core/backend"
import { Call, Script, ScriptedTinker } from "@effect-rl/core/testing"
import { AgentRecipe } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema, Stream } from "effect"
import * as TestModel from "../TestModel.ts"

const Completion = Schema.Struct({
  choices: Schema.Array(Schema.Struct({ message: Schema.Struct({ content: Schema.String }) }))
})
const contentOf = (answer: unknown) => Schema.decodeUnknownSync(Completion)(answer).choices[0]?.message.content

const recipe = AgentRecipe.make({
  name: "summarised",
  tasks: { train: ["a long text"], test: [] },
  run: async ({ baseUrl, fetch }, text) => {
    const ask = async (model: string, content: string) => {
      const body = JSON.stringify({ model, messages: [{ role: "user", content }] })
      return contentOf(await (await fetch(`${baseUrl}/chat/completions`, { method: "POST", body })).json())
    }
    const summary = await ask("summariser", text)
    return await ask(Script.defaultModel, `${summary}?`) === "yes" ? 1 : 0
  }
})

const saying = (text: string) => {
  const tokens = TestModel.tokenizer.encode(`${text}<|im_end|>`)
  return { tokens, logprobs: new Float32Array(tokens.length).fill(-0.1), stopReason: "stop" } as const
}

const backend = ScriptedTinker.layer({
  models: { [Script.defaultModel]: { contextLength: 4096 } },
  sample: () => ({ sequences: [saying("a short one")] })
})

const build = Effect.fnUntraced(function*(settings: object) {
  const { build } = yield* recipe.configure(settings)
  return yield* build(yield* TestModel.model)
})

describe("a model named by --frozen", () => {
  it.effect("is answered by the base model, and its answers are not turns of the episode", () =>
    Effect.gen(function*() {
      const { dataset } = yield* build({ frozen: ["summariser"] })
      const [builder] = yield* dataset.batch(0, 0)
      const { makeEnv } = yield* builder?.open ?? Effect.die("no group")
      const env = yield* makeEnv(0, { iteration: 0, attempt: 0, key: "0", seed: 0 })
      const policy = { act: () => Effect.succeed(saying("yes")) }
      const played = yield* Rollout.episode(env, policy, { iteration: 0, group: "0", member: 0, attempt: 0 })
      assert.strictEqual(played.stepReward, 1)
      assert.lengthOf(played.transitions, 1)
      assert.include(JSON.stringify(played.transitions[0]?.logs), "a short one")
    }).pipe(Effect.scoped, Effect.provide(backend)))

  it.effect("is answered by the checkpoint that follows its name and \"=\"", () =>
    Effect.gen(function*() {
      const tinker = yield* Tinker.Tinker
      const training = yield* tinker.createLoraTrainingClient({ baseModel: Script.defaultModel })
      const { path } = yield* Effect.flatMap(training.saveWeightsForSampler("final"), ({ await: saved }) => saved)
      const { dataset } = yield* build({ frozen: [`summariser=${path}`] })
      const [builder] = yield* dataset.batch(0, 0)
      const { makeEnv } = yield* builder?.open ?? Effect.die("no group")
      const env = yield* makeEnv(0, { iteration: 0, attempt: 0, key: "0", seed: 0 })
      const policy = { act: () => Effect.succeed(saying("yes")) }
      const played = yield* Rollout.episode(env, policy, { iteration: 0, group: "0", member: 0, attempt: 0 })
      assert.strictEqual(played.stepReward, 1)
      const calls = yield* Call.CallLog.use(({ calls }) => calls)
      const asked = calls.flatMap((call) => call._tag === "Sample" ? [call.modelPath] : [])
      assert.deepStrictEqual(asked, [path])
    }).pipe(Effect.scoped, Effect.provide(backend)))

  it.effect("is refused if it occurs twice or its checkpoint is missing", () =>
    Effect.gen(function*() {
      const twice = yield* Effect.flip(build({ frozen: ["summariser", "summariser=scripted://x"] }))
      assert.include(String(twice), "frozen is \"summariser\", expected each name once")
      const incomplete = yield* Effect.flip(build({ frozen: ["summariser="] }))
      assert.include(String(incomplete), "frozen is \"summariser=\", expected a name, or a name and its checkpoint")
      const own = yield* Effect.flip(build({ frozen: [`${Script.defaultModel}=scripted://x`] }))
      assert.include(
        String(own),
        `frozen is "${Script.defaultModel}", expected names other than those of the trained model`
      )
    }).pipe(Effect.provide(backend)))

  it.effect("is refused if it is the trained model or there is no backend", () =>
    Effect.gen(function*() {
      const own = yield* Effect.flip(build({ frozen: [Script.defaultModel] }))
      assert.include(
        String(own),
        `frozen is "${Script.defaultModel}", expected names other than those of the trained model`
      )
      const named = yield* Effect.flip(build({ names: ["gpt-4o"], frozen: ["gpt-4o"] }))
      assert.include(String(named), "frozen is \"gpt-4o\", expected names other than those of the trained model")
      const alone = yield* Effect.flip(build({ frozen: ["summariser"] }))
      assert.include(String(alone), "expected no names, because no model can sample here")
    }))

  const trained = Effect.fnUntraced(function*(settings: object) {
    const small = { iterations: 1, groupsPerBatch: 1, groupSize: 4, evalEvery: 0, frozen: ["summariser"] }
    const { run } = yield* build({ ...small, ...settings })
    const records = yield* Stream.runCollect(run)
    const { calls } = yield* Call.CallLog
    const samples = (yield* calls).flatMap((call) => call._tag === "Sample" ? [call] : [])
    const tokens = ({ request }: (typeof samples)[number]) =>
      request.prompt.length + saying("a short one").tokens.length
    const spent = records.flatMap((record) => "spent" in record ? [record.spent] : []).at(-1) ?? Usage.zero
    return {
      spent: Usage.total(spent),
      frozen: samples.filter(({ modelPath }) => modelPath === Script.defaultModel).reduce(
        (sum, call) => sum + tokens(call),
        0
      ),
      all: samples.reduce((sum, call) => sum + tokens(call), 0),
      reason: records.findLast(RunRecord.guards.Finished)?.reason
    }
  }, Effect.provide(Layer.merge(backend, RunStore.RunStore.layerMemory)))

  it.live("uses tokens that count as spent and towards the run's token limit", () =>
    Effect.gen(function*() {
      const free = yield* trained({})
      assert.strictEqual(free.reason, "completed")
      assert.isAbove(free.frozen, 0)
      assert.strictEqual(free.spent, free.all)
      // Enough for the policy's own tokens, but only for some of the frozen model's.
      const maxTokensTotal = free.all - free.frozen + 200
      const limited = yield* trained({ maxTokensTotal })
      assert.strictEqual(limited.reason, "max_tokens_total")
      assert.isAtMost(limited.all, maxTokensTotal)
    }))
})
