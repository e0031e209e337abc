import { HopSampling, type Key, ModelInput, Policy, type Sampling, Tinker, type Weights } from "@effect-rl/core"
import { Call, Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const tokenizer = TestTokenizer.characters
const prompt = ModelInput.fromTokens([40, 41])
const turns: ReadonlyArray<Key.TurnKey> = Array.from({ length: 12 }, (_, index) => ({
  iteration: 3,
  group: "sum/1",
  member: index % 4,
  attempt: 0,
  turn: Math.floor(index / 4)
}))
const [key] = turns

const client = Effect.flatMap(
  Tinker.Tinker,
  (tinker) => tinker.createSamplingClient({ baseModel: Script.defaultModel })
)

/** Weights of `step` optimizer steps, one more at each request. */
const newerAtEachRequest = Effect.map(client, (client) => {
  let step = 0
  return Effect.sync((): Weights.Sampler => ({ client, step: step++ }))
})

const asked = Effect.gen(function*() {
  const { calls } = yield* Call.CallLog
  return (yield* calls).filter(Call.Call.$is("Sample")).map(({ request }) => request)
})

const act = Effect.fnUntraced(function*(every: number | undefined, request: Partial<Policy.Request> = {}) {
  const policy = HopSampling.policy(yield* newerAtEachRequest, { maxTokens: 10, seed: 5 }, { every, tokenizer })
  return yield* policy.act({ prompt, stop: [], key: key ?? assert.fail("there is no key"), ...request })
})

/** A backend that says a text token by token, as far as it is asked to, and stops at stops that it sees. */
const saying = (text: string): Script.Script => ({
  sample: ({ params: { maxTokens, stop = [] }, prompt: { length } }) => {
    const said = text.slice(length - prompt.length).slice(0, maxTokens)
    const ends = Array.from<string | number>(stop).flatMap((end) =>
      typeof end === "string" && said.includes(end) ? said.indexOf(end) + end.length : []
    )
    const end = Math.min(...ends)
    const stopReason: Sampling.SampleStopReason = Number.isFinite(end) ? "stop" : "length"
    return { sequences: [Script.text(tokenizer, said.slice(0, end), { stopReason })] }
  }
})

describe("Hop sampling", () => {
  it.effect.each([1, 3, 10, undefined])(
    "samples what a policy with fixed weights does while weights do not change, in requests of %s tokens",
    (every) =>
      Effect.gen(function*() {
        const sampler = yield* client
        const sampling = { maxTokens: 10, seed: 5 }
        const ordinary = Policy.fromSamplingClient(sampler, sampling)
        const hopping = HopSampling.policy(Effect.succeed({ client: sampler, step: 4 }), sampling, { every, tokenizer })
        for (const key of turns) {
          const request = { prompt, stop: [7, 30, 52, 77], key }
          const { weights = [], ...sampled } = yield* hopping.act(request)
          assert.deepStrictEqual(sampled, yield* ordinary.act(request))
          assert.strictEqual(weights.reduce((sum, { length }) => sum + length, 0), sampled.tokens.length)
          assert.isTrue(weights.every(({ step }) => step === 4))
        }
      }).pipe(Effect.provide(ScriptedTinker.layer()))
  )

  it.effect("says of each token which weights sampled it, and goes on after the tokens before it", () =>
    Effect.gen(function*() {
      const { stopReason, tokens, weights } = yield* act(4)
      assert.deepStrictEqual(weights, [{ step: 0, length: 4 }, { step: 1, length: 4 }, { step: 2, length: 2 }])
      assert.strictEqual(stopReason, "length")
      const requests = yield* asked
      assert.deepStrictEqual(requests.map(({ params }) => params.maxTokens), [4, 4, 2])
      assert.deepStrictEqual(
        requests.map(({ prompt }) => Array.from(Effect.runSync(ModelInput.toTokens(prompt)))),
        [[40, 41], [40, 41, ...tokens.subarray(0, 4)], [40, 41, ...tokens.subarray(0, 8)]]
      )
    }).pipe(Effect.provide(ScriptedTinker.layer())))

  it.effect("keeps the weights of a turn unless told after how many tokens it hops", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* act(undefined)).weights, [{ step: 0, length: 10 }])
      assert.lengthOf(yield* asked, 1)
    }).pipe(Effect.provide(ScriptedTinker.layer())))

  it.effect("takes the tighter cap of a turn", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* act(4, { maxTokens: 5 })).weights, [{ step: 0, length: 4 }, {
        step: 1,
        length: 1
      }])
    }).pipe(Effect.provide(ScriptedTinker.layer())))

  it.effect.each([1, 2, 3, 4, 5, 6])(
    "ends a turn at a stop that lies across requests of %i tokens",
    (every) =>
      Effect.gen(function*() {
        const { stopReason, tokens, weights = [] } = yield* act(every, { stop: ["x", "\n\nU"] })
        assert.deepStrictEqual([tokenizer.decode(tokens), stopReason], ["say\n\nU", "stop"])
        assert.strictEqual(weights.reduce((sum, { length }) => sum + length, 0), tokens.length)
      }).pipe(Effect.provide(ScriptedTinker.layer(saying("say\n\nUser: more"))))
  )

  it.effect("ends a turn that the backend cut short of what was asked for", () =>
    Effect.gen(function*() {
      const { stopReason, tokens } = yield* act(4)
      assert.deepStrictEqual([tokenizer.decode(tokens), stopReason], ["short", "length"])
      assert.lengthOf(yield* asked, 2)
    }).pipe(Effect.provide(ScriptedTinker.layer(saying("short")))))

  it.effect("names the backend's sequence of each run of tokens", () =>
    Effect.gen(function*() {
      const sampled = yield* act(5)
      assert.isUndefined(sampled.sequenceId)
      assert.deepStrictEqual(sampled.weights, [
        { step: 0, length: 5, sequenceId: "s0" },
        { step: 1, length: 5, sequenceId: "s1" }
      ])
    }).pipe(Effect.provide(ScriptedTinker.layer({
      sample: ({ params: { maxTokens } }, { call }) => ({
        sequences: [{
          tokens: new Int32Array(maxTokens),
          logprobs: new Float32Array(maxTokens),
          stopReason: "length",
          sequenceId: `s${call}`
        }]
      })
    }))))
})
