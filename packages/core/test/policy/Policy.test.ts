import { Policy, Tinker } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { type Key, Seed } from "@effect-rl/core/environments"
import { Call, Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const prompt = ModelInput.fromTokens([40, 41])
const key: Key.TurnKey = { iteration: 3, group: "sum/1", member: 2, attempt: 0, turn: 0 }

const client = Effect.flatMap(
  Tinker.Tinker,
  (tinker) => tinker.createSamplingClient({ baseModel: Script.defaultModel })
)

const asked = Effect.gen(function*() {
  const { calls } = yield* Call.CallLog
  return (yield* calls).filter(Call.Call.$is("Sample")).map(({ request }) => request)
})

describe("Policy.fromSamplingClient", () => {
  it.effect("sends one request per turn, with the turn's seed and the environment's stop", () =>
    Effect.gen(function*() {
      const policy = Policy.fromSamplingClient(yield* client, { maxTokens: 8, seed: 5 })
      yield* policy.act({ prompt, stop: ["\n"], key })
      assert.deepStrictEqual(yield* asked, [
        { prompt, params: { stop: ["\n"], maxTokens: 8, seed: Seed.turn(5, key) } }
      ])
    }).pipe(Effect.provide(ScriptedTinker.layer())))

  it.effect("passes its sampling options on, and uses the lower token limit", () =>
    Effect.gen(function*() {
      const policy = Policy.fromSamplingClient(yield* client, {
        maxTokens: 8,
        seed: 5,
        temperature: 0.7,
        topP: 0.9,
        topK: 40
      })
      yield* policy.act({ prompt, stop: [], key, maxTokens: 3 })
      yield* policy.act({ prompt, stop: [], key, maxTokens: 30 })
      yield* policy.act({ prompt, stop: [], key })
      const params = (yield* asked).map(({ params }) => params)
      assert.deepStrictEqual(params.map(({ maxTokens }) => maxTokens), [3, 8, 8])
      assert.deepInclude(params[0], { temperature: 0.7, topP: 0.9, topK: 40 })
    }).pipe(Effect.provide(ScriptedTinker.layer())))

  it.effect("passes the grammar of a turn on", () =>
    Effect.gen(function*() {
      const policy = Policy.fromSamplingClient(yield* client, { maxTokens: 8, seed: 5 })
      const grammar = { jsonSchema: { type: "object" } }
      yield* policy.act({ prompt, stop: ["\n"], key, grammar })
      assert.deepStrictEqual((yield* asked).map((request) => request.grammar), [grammar])
    }).pipe(Effect.provide(ScriptedTinker.layer({ models: { [Script.defaultModel]: { sampling: ["grammar"] } } }))))

  it.effect("fails if its backend does not support grammars", () =>
    Effect.gen(function*() {
      const policy = Policy.fromSamplingClient(yield* client, { maxTokens: 8, seed: 5 })
      const { reason } = yield* Effect.flip(
        policy.act({ prompt, stop: ["\n"], key, grammar: { jsonSchema: { type: "object" } } })
      )
      assert.deepInclude(reason, { _tag: "Unsupported", capability: "grammar" })
    }).pipe(Effect.provide(ScriptedTinker.layer({ models: { [Script.defaultModel]: { sampling: [] } } }))))

  it.effect("gives the same response for the same key, independently of earlier requests", () =>
    Effect.gen(function*() {
      const policy = Policy.fromSamplingClient(yield* client, { maxTokens: 8, seed: 5 })
      const first = yield* policy.act({ prompt, stop: [], key })
      const other = yield* policy.act({ prompt, stop: [], key: { ...key, member: 3 } })
      assert.notDeepEqual(other.tokens, first.tokens)
      assert.deepStrictEqual(yield* policy.act({ prompt, stop: [], key }), first)
    }).pipe(Effect.provide(ScriptedTinker.layer())))

  it.effect("samples the members' first prompts like one request for several samples with a seed", () =>
    Effect.gen(function*() {
      const sampler = yield* client
      const policy = Policy.fromSamplingClient(sampler, { maxTokens: 8, seed: 5 })
      const members = yield* Effect.forEach(
        [0, 1, 2],
        (member) => policy.act({ prompt, stop: [], key: { ...key, member } })
      )
      const together = yield* sampler.sample({
        prompt,
        numSamples: 3,
        params: { maxTokens: 8, stop: [], seed: Seed.turn(5, { ...key, member: 0 }) }
      })
      assert.deepStrictEqual(members, together.sequences)
    }).pipe(Effect.provide(ScriptedTinker.layer())))

  it.effect("fails if the backend returns nothing", () =>
    Effect.gen(function*() {
      const policy = Policy.fromSamplingClient(yield* client, { maxTokens: 8, seed: 5 })
      const error = yield* Effect.flip(policy.act({ prompt, stop: [], key }))
      assert.strictEqual(error.message, "sample: the backend's answer is wrong: sequences has 0 values, expected 1")
      assert.isFalse(error.isRetryable)
    }).pipe(Effect.provide(ScriptedTinker.layer({ sample: () => ({ sequences: [] }) }))))

  it.effect("returns the sampled tokens with log-probabilities and stop reason", () =>
    Effect.gen(function*() {
      const policy = Policy.fromSamplingClient(yield* client, { maxTokens: 8, seed: 5 })
      const action = yield* policy.act({ prompt, stop: [], key })
      assert.deepStrictEqual(
        action,
        Script.text(TestTokenizer.characters, "ok", { logprob: -0.25, stopReason: "length" })
      )
    }).pipe(Effect.provide(ScriptedTinker.layer({
      sample: Script.inOrder([
        Script.text(TestTokenizer.characters, "ok", { logprob: -0.25, stopReason: "length" })
      ])
    }))))
})
