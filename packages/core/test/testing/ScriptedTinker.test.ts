import { Loss, Tinker, TinkerError } from "@effect-rl/core"
import { Datum, ModelInput } from "@effect-rl/core/backend"
import { Call, Fault, LeakAudit, Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"

const tokenizer = TestTokenizer.characters
const prompt = ModelInput.fromTokens(tokenizer.encode("1+1="))
const baseModel = Script.defaultModel

const datum = (advantage: number) =>
  Datum.policyTokens(ModelInput.fromTokens([10, 11, 12]), {
    targetTokens: Int32Array.of(11, 12, 13),
    logprobs: Float32Array.of(NaN, -1, -2),
    advantages: Float32Array.of(0, advantage, advantage),
    mask: Float32Array.of(0, 1, 1)
  })

const trainingClient = Effect.flatMap(Tinker.Tinker, (tinker) => tinker.createLoraTrainingClient({ baseModel }))
const samplingClient = Effect.flatMap(Tinker.Tinker, (tinker) => tinker.createSamplingClient({ baseModel }))
const log = Effect.flatMap(Call.CallLog, ({ calls }) => Effect.map(calls, (calls) => calls.map(Call.describe)))

describe("the script of ScriptedTinker", () => {
  const ask = { prompt, params: { maxTokens: 5, seed: 7 } }

  it.effect("is followed in order, and a request after its end is a defect", () =>
    Effect.gen(function*() {
      const client = yield* samplingClient
      const first = yield* client.sample({ ...ask, numSamples: 2 })
      assert.deepStrictEqual(first.sequences.map(({ tokens }) => tokenizer.decode(tokens)), ["2", "3"])
      const beyond = yield* Effect.exit(client.sample(ask))
      assert.include(String(beyond), "the script has 2 sequences, and sequence 2 was requested")
    }).pipe(Effect.provide(ScriptedTinker.layer({
      sample: Script.inOrder([Script.text(tokenizer, "2"), Script.text(tokenizer, "3", { stopReason: "length" })])
    }))))

  it.effect("may depend on the prompt, the seed and the weights", () =>
    Effect.gen(function*() {
      const training = yield* trainingClient
      yield* Effect.flatMap(training.optimStep({ learningRate: 1 }), (step) => step.await)
      const sampler = yield* training.saveWeightsAndGetSamplingClient
      const { sequences } = yield* sampler.sample({ ...ask, numSamples: 2 })
      assert.deepStrictEqual(sequences.map(({ tokens }) => tokenizer.decode(tokens)), ["1+1= 7 1", "1+1= 8 1"])
    }).pipe(Effect.provide(ScriptedTinker.layer({
      sample: Script.reply(tokenizer, (text, { seed, step }) => Script.text(tokenizer, `${text} ${seed} ${step}`))
    }))))

  it.effect("makes the importance ratio 1 for scripted samples", () =>
    Effect.gen(function*() {
      const training = yield* trainingClient
      const pass = yield* training.forwardBackward([datum(1), datum(-3)], Loss.importanceSampling)
      const { logprobs, metrics } = yield* pass.await
      assert.deepStrictEqual(logprobs, [Float32Array.of(NaN, -1, -2), Float32Array.of(NaN, -1, -2)])
      assert.strictEqual(metrics["loss:sum"], -2 * (1 - 3))
    }).pipe(Effect.provide(ScriptedTinker.layer({ sample: Script.inOrder([]) }))))

  it.effect("determines log-probabilities, the results of passes and the metrics of steps", () =>
    Effect.gen(function*() {
      const training = yield* trainingClient
      const pass = yield* training.forwardBackward([datum(1)], Loss.ppo())
      const step = yield* training.optimStep({ learningRate: 1e-3 })
      const client = yield* samplingClient
      assert.deepStrictEqual(yield* pass.await, { logprobs: [Float32Array.of(1)], metrics: { "loss:sum": 4 } })
      assert.deepStrictEqual(yield* step.await, { metrics: { grad_norm: 0.5 } })
      assert.deepStrictEqual(yield* client.computeLogprobs(prompt), Float32Array.of(NaN, -4))
    }).pipe(Effect.provide(ScriptedTinker.layer({
      computeLogprobs: (input) => Float32Array.of(NaN, -input.length),
      forwardBackward: () => ({ logprobs: [Float32Array.of(1)], metrics: { "loss:sum": 4 } }),
      optimStep: () => Effect.succeed({ grad_norm: 0.5 })
    }))))

  it.effect("can contain failures", () =>
    Effect.gen(function*() {
      const client = yield* samplingClient
      const error = yield* Effect.flip(client.sample(ask))
      assert.strictEqual(error.message, "sample: rate limited, try again in 20 ms")
    }).pipe(Effect.provide(ScriptedTinker.layer({
      sample: () => Effect.fail(new TinkerError.RateLimited({ retryAfterMillis: 20 }))
    }))))
})

describe("the call log of ScriptedTinker", () => {
  it.effect("has one readable line per call, with training calls in submission order", () =>
    Effect.gen(function*() {
      const training = yield* trainingClient
      const sampler = yield* training.saveWeightsAndGetSamplingClient
      yield* sampler.sample({ prompt, params: { maxTokens: 2 }, numSamples: 4 })
      const pass = yield* training.forwardBackward([datum(1), datum(-1)], Loss.ppo())
      const step = yield* training.optimStep({ learningRate: 4e-5 })
      const saved = yield* training.saveState("000001", { ttl: "2 hours" })
      yield* Effect.forEach([pass, step, saved], (pending): Effect.Effect<unknown, TinkerError.TinkerError> =>
        pending.await)
      yield* training.unload
      assert.deepStrictEqual(yield* log, [
        "create_training_client(effect-rl/scripted, 32)",
        "snapshot",
        "sample(4)",
        "forward_backward(2, ppo)",
        "optim_step(0.00004)",
        "save_state(000001, 2h)",
        "unload"
      ])
    }).pipe(Effect.provide(ScriptedTinker.layer())))

  it.effect("contains the full arguments of each call", () =>
    Effect.gen(function*() {
      const training = yield* trainingClient
      yield* training.optimStep({ learningRate: 1, beta1: 0.5 })
      const { calls } = yield* Call.CallLog
      const steps = (yield* calls).filter(Call.Call.$is("OptimStep"))
      assert.deepStrictEqual(steps.map(({ adam }) => adam), [{ learningRate: 1, beta1: 0.5 }])
    }).pipe(Effect.provide(ScriptedTinker.layer())))

  it.effect("contains the metadata of clients and saves", () =>
    Effect.gen(function*() {
      const tinker = yield* Tinker.Tinker
      const userMetadata = { commit: "a1b2" }
      const first = yield* tinker.createLoraTrainingClient({ baseModel: Script.defaultModel, userMetadata })
      const { path } = yield* Effect.flatMap(first.saveState("state", { userMetadata }), (pending) => pending.await)
      yield* tinker.createTrainingClientFromState(path, { userMetadata })
      const { calls } = yield* Call.CallLog
      assert.deepStrictEqual(
        (yield* calls).map((call) => "userMetadata" in call ? call.userMetadata : undefined),
        [userMetadata, userMetadata, userMetadata]
      )
    }).pipe(Effect.provide(ScriptedTinker.layer())))

  it.effect("is separate for each backend", () =>
    Effect.gen(function*() {
      yield* samplingClient
      const other = yield* Effect.provide(log, ScriptedTinker.layer())
      assert.deepStrictEqual(other, [])
      assert.deepStrictEqual(yield* log, ["create_sampling_client(effect-rl/scripted)"])
    }).pipe(Effect.provide(ScriptedTinker.layer())))
})

describe("a scripted fault", () => {
  const lost = new TinkerError.Unavailable({ detail: "lost" })

  it.effect("hits the n-th call of an operation", () =>
    Effect.gen(function*() {
      const client = yield* samplingClient
      const ask = client.computeLogprobs(prompt)
      yield* ask
      assert.strictEqual((yield* Effect.flip(ask)).message, "computeLogprobs: lost")
      yield* ask
    }).pipe(Effect.provide(ScriptedTinker.layer({ faults: [Fault.call("ComputeLogprobs", 1, Fault.fail(lost))] }))))

  it.effect("takes the given time", () =>
    Effect.gen(function*() {
      const client = yield* samplingClient
      const asked = yield* Effect.forkChild(client.computeLogprobs(prompt), { startImmediately: true })
      yield* TestClock.adjust("59 seconds")
      assert.isUndefined(asked.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(asked)).length, 4)
    }).pipe(Effect.provide(ScriptedTinker.layer({ faults: [Fault.every("ComputeLogprobs", Fault.slow("1 minute"))] }))))

  it.effect("makes the client fail before an optimizer step if the failed call is not awaited", () =>
    Effect.gen(function*() {
      const training = yield* trainingClient
      const first = yield* training.forwardBackward([datum(1)], Loss.ppo())
      const second = yield* training.forwardBackward([datum(1)], Loss.ppo())
      const step = yield* training.optimStep({ learningRate: 1 })
      yield* first.await
      const stepError = yield* Effect.flip(step.await)
      assert.strictEqual(stepError.message, "optimStep: forwardBackward failed and nobody awaited it: lost")
      assert.strictEqual((yield* Effect.flip(second.await)).message, "forwardBackward: lost")
      const later = yield* Effect.flip(training.optimStep({ learningRate: 1 }))
      assert.strictEqual(later.reason._tag, "Closed")
    }).pipe(Effect.provide(ScriptedTinker.layer({ faults: [Fault.call("ForwardBackward", 1, Fault.fail(lost))] }))))

  it.effect("leaves the client usable if the failed call is awaited", () =>
    Effect.gen(function*() {
      const training = yield* trainingClient
      const submit = training.forwardBackward([datum(1)], Loss.ppo())
      const error = yield* Effect.flip(Effect.flatMap(submit, (pending) => pending.await))
      assert.strictEqual(error.reason._tag, "Unavailable")
      yield* Effect.flatMap(submit, (pending) => pending.await)
    }).pipe(Effect.provide(ScriptedTinker.layer({ faults: [Fault.call("ForwardBackward", 0, Fault.fail(lost))] }))))

  it.effect("can delay a request until the client's scope closes, which fails the request", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const training = yield* Scope.provide(scope)(trainingClient)
      const pass = yield* training.forward([datum(1)], Loss.ppo())
      const waiting = yield* Effect.forkChild(pass.await, { startImmediately: true })
      yield* Scope.close(scope, Exit.void)
      const error = yield* Effect.flip(Fiber.join(waiting))
      assert.strictEqual(error.message, "forward: the scope of the training client closed")
    }).pipe(Effect.provide(ScriptedTinker.layer({ faults: [Fault.every("Forward", Fault.slow("1 minute"))] }))))
})

it.effect("ScriptedTinker counts its open clients in the LeakAudit", () =>
  Effect.gen(function*() {
    const audit = yield* LeakAudit.LeakAudit
    const live = Effect.map(audit.counts, LeakAudit.live)
    yield* Effect.scoped(Effect.gen(function*() {
      const training = yield* trainingClient
      yield* training.saveWeightsAndGetSamplingClient
      yield* samplingClient
      assert.deepStrictEqual(yield* live, { TrainingClient: 1, SamplingClient: 2 })
    }))
    assert.deepStrictEqual(yield* live, {})
  }).pipe(Effect.provide(ScriptedTinker.layer())))
