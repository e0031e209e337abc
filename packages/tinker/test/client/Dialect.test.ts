import { Loss, Tinker } from "@effect-rl/core"
import { Datum, ModelInput } from "@effect-rl/core/backend"
import { type TinkerHttp } from "@effect-rl/tinker"
import * as Dialect from "@effect-rl/tinker/client/Dialect"
import * as SampleResult from "@effect-rl/tinker/wire/SampleResult"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { run, train } from "./Calls.ts"
import { withTinker } from "./Elapse.ts"
import * as FakeService from "./FakeService.ts"

const prompt = ModelInput.fromTokens([1, 2, 3])

const policy = Datum.policyTokens(prompt, {
  targetTokens: Int32Array.of(2, 3, 4),
  logprobs: Float32Array.of(0, -1, -2),
  advantages: Float32Array.of(0, 1, 1),
  mask: Float32Array.of(0, 1, 1)
})

const weighted = Datum.weightedTokens(prompt, {
  targetTokens: Int32Array.of(2, 3, 4),
  weights: Float32Array.of(0, 1, 1)
})

/** A service that names its sessions as SkyRL does and lacks what SkyRL lacks. */
const skyRL = (routes: FakeService.Routes = {}) =>
  FakeService.make({
    config: { pjwt_auth_enabled: false },
    routes: {
      "/create_session": () => FakeService.json({ session_id: "session_0a1b2c3d", type: "create_session" }),
      "/get_server_capabilities": () => FakeService.json({ supported_models: [{ model_name: "fake" }] }),
      ...routes
    }
  })

/** A server of this project that reports this loss reduction. */
const reducing = (loss_reduction: string) =>
  FakeService.make({
    routes: {
      "/get_server_capabilities": () =>
        FakeService.json({
          supported_models: [{
            model_name: "fake",
            max_context_length: 100,
            effect_rl: {
              loss_reduction,
              seeds: "sample" as const,
              prompt_logprobs: true,
              topk_prompt_logprobs: 0,
              lora_rank: [1, 64]
            }
          }]
        })
    }
  })

const reductionOf = (service: FakeService.FakeService, options: TinkerHttp.TinkerHttpOptions = {}) =>
  Effect.map(
    withTinker(service, Effect.flatMap(Tinker.Tinker, (tinker) => tinker.capabilities("fake")), options),
    ({ lossReduction }) => lossReduction
  )

describe("a server's kind", () => {
  it("is detected by its address, its answers, or its session names", () => {
    const ours = [{
      effect_rl: {
        loss_reduction: "token-sum" as const,
        seeds: "sample" as const,
        prompt_logprobs: true,
        topk_prompt_logprobs: 0,
        lora_rank: [1, 2] as const
      }
    }]
    assert.strictEqual(Dialect.detect(Dialect.hosted, "6f0c", [{}]), "hosted")
    assert.strictEqual(Dialect.detect("http://localhost:8000", "6f0c", ours), "effect-rl")
    assert.strictEqual(Dialect.detect("http://localhost:8000", "session_0a1b2c3d", [{}]), "skyrl")
    assert.strictEqual(Dialect.detect("http://localhost:8000", "session_of_mine", [{}]), "other")
  })

  it.effect("determines the loss reduction", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* reductionOf(FakeService.make()), "unknown")
      assert.strictEqual(yield* reductionOf(FakeService.make(), { server: "hosted" }), "token-sum")
      assert.strictEqual(yield* reductionOf(skyRL()), "unknown")
      assert.strictEqual(yield* reductionOf(skyRL(), { server: "skyrl-jax" }), "sequence-mean")
      assert.strictEqual(yield* reductionOf(reducing("sequence-mean")), "sequence-mean")
    }))
})

describe("policy losses", () => {
  it.effect("are sent to SkyRL with the mask as weights, so prompt tokens do not count, and to others without weights", () =>
    Effect.gen(function*() {
      const submit = Effect.flatMap(train, (client) => run(client.forwardBackward([policy], Loss.importanceSampling)))
      const masked = skyRL()
      yield* withTinker(masked, submit)
      const plain = FakeService.make()
      yield* withTinker(plain, submit)
      const weightsOf = ({ received }: FakeService.FakeService) =>
        received.find(({ path }) => path === "/forward_backward")?.body["weights"]
      assert.deepStrictEqual(weightsOf(masked), [[0, 1, 1]])
      assert.deepStrictEqual(weightsOf(plain), [undefined])
    }))

  it.effect("are refused if prompt tokens would count, unless forced", () =>
    Effect.gen(function*() {
      const submit = Effect.flatMap(train, (client) => run(client.forwardBackward([policy], Loss.importanceSampling)))
      const refused = yield* Effect.flip(withTinker(reducing("sequence-mean"), submit))
      assert.strictEqual(refused.reason._tag, "Unsupported")
      assert.include(refused.message, "allowUnmaskedLoss")
      yield* withTinker(reducing("sequence-mean"), submit, { allowUnmaskedLoss: true })
      yield* withTinker(reducing("token-sum"), submit)
      const supervised = Effect.flatMap(train, (client) => run(client.forwardBackward([weighted], Loss.crossEntropy)))
      yield* withTinker(reducing("sequence-mean"), supervised)
    }))
})

describe("custom losses", () => {
  it.effect("are refused by a server whose cross entropy is not a sum", () =>
    Effect.gen(function*() {
      const custom = Effect.flatMap(train, (client) =>
        run(client.forwardBackwardCustom([weighted], (_, logprobs) =>
          Effect.succeed({
            loss: 1,
            gradients: logprobs.map((logprobsT) =>
              logprobsT.map(() => 0.5)
            )
          }))))
      const refused = yield* Effect.flip(withTinker(reducing("sequence-mean"), custom))
      assert.strictEqual(refused.reason._tag, "Unsupported")
      const service = reducing("token-sum")
      const { metrics } = yield* withTinker(service, custom)
      assert.strictEqual(metrics["loss:sum"], 1)
      const [forward, backward] = service.received.filter(({ path }) => path === "/forward_backward")
      assert.strictEqual(forward?.body["forwardOnly"], true)
      assert.deepStrictEqual(backward?.body["weights"], [[-0.5, -0.5, -0.5]])
    }))
})

const training = <A, E, R>(call: (client: Effect.Success<typeof train>) => Effect.Effect<A, E, R>) =>
  Effect.flatMap(train, call)

describe("a capability that SkyRL lacks", () => {
  it.effect("is refused before it is sent", () =>
    Effect.gen(function*() {
      const service = skyRL()
      const reasons = yield* withTinker(
        service,
        Effect.gen(function*() {
          const tinker = yield* Tinker.Tinker
          const client = yield* train
          assert.isUndefined(client.saveWeightsExternal)
          const calls = [
            Effect.asVoid(client.forwardBackward([policy], Loss.dro())),
            Effect.asVoid(client.optimStep({ learningRate: 1e-3, gradClipNorm: 1 })),
            Effect.asVoid(client.saveState("one", { ttl: "1 hour" })),
            Effect.asVoid(client.saveState("a name")),
            Effect.asVoid(
              Effect.andThen(client.optimStep({ learningRate: 1e-3 }), client.loadState("tinker://run/weights/one"))
            ),
            Effect.asVoid(tinker.createLoraTrainingClient({ baseModel: "fake", trainMlp: false }))
          ]
          return yield* Effect.forEach(calls, (call) => Effect.map(Effect.flip(call), ({ reason }) => reason))
        })
      )
      assert.deepStrictEqual(
        reasons.map((reason) => reason._tag === "Unsupported" ? reason.capability : reason._tag),
        [
          "loss",
          "gradClipNorm",
          "ttl",
          "Rejected",
          "loadState",
          "train_mlp"
        ]
      )
      const asked = new Set(service.received.map(({ path }) => path))
      assert.isFalse(["/forward_backward", "/save_weights", "/load_weights"].some((path) => asked.has(path)))
    }))

  it.effect("top candidates of prompt tokens are refused with a typed failure", () =>
    Effect.gen(function*() {
      const sample = Effect.flatMap(Tinker.Tinker, (tinker) =>
        Effect.flatMap(tinker.createSamplingClient({ baseModel: "fake" }), (client) =>
          client.sample({ prompt, params: { maxTokens: 1 }, promptLogprobs: true, topkPromptLogprobs: 2 })))
      const refused = yield* Effect.flip(withTinker(skyRL(), sample))
      assert.strictEqual(refused.reason._tag, "Unsupported")
    }))

  it.effect("the loss is summed over the tokens if there are no metrics", () =>
    Effect.gen(function*() {
      const tensor = (data: ReadonlyArray<number>) => ({ data, dtype: "float32", shape: [data.length] })
      const service = skyRL({
        "/retrieve_future": ({ request_id }) =>
          request_id === "future-0" ? undefined : FakeService.json({
            loss_fn_output_type: "scalar",
            loss_fn_outputs: [{ logprobs: tensor([-1, -2, -3]), elementwise_loss: tensor([0, 2, 3.5]) }],
            metrics: {}
          })
      })
      const { metrics } = yield* withTinker(
        service,
        training((client) => run(client.forwardBackward([weighted], Loss.crossEntropy)))
      )
      assert.deepStrictEqual(metrics, { "loss:sum": 5.5 })
    }))

  it.effect("a missing path fails as NotFound, and a path of other weights as Rejected", () =>
    Effect.gen(function*() {
      const service = skyRL()
      const reasons = yield* withTinker(
        service,
        Effect.gen(function*() {
          const tinker = yield* Tinker.Tinker
          const calls = [
            Effect.asVoid(tinker.createSamplingClient({ modelPath: "no-such-checkpoint" })),
            Effect.asVoid(tinker.createSamplingClient({ modelPath: "tinker://run/weights/one" })),
            Effect.asVoid(tinker.createTrainingClientFromState("no-such-checkpoint")),
            Effect.asVoid(tinker.createTrainingClientFromState("tinker://run/one"))
          ]
          return yield* Effect.forEach(calls, (call) => Effect.map(Effect.flip(call), ({ reason }) => reason._tag))
        })
      )
      assert.deepStrictEqual(reasons, ["NotFound", "Rejected", "NotFound", "Rejected"])
    }))

  it.effect("the missing log-probability of the first token becomes NaN, as on other servers", () =>
    Effect.gen(function*() {
      const sequences = [{ tokens: Int32Array.of(1), logprobs: Float32Array.of(-1), stopReason: "length" as const }]
      const service = skyRL({
        "/retrieve_future": () =>
          new Response(new Uint8Array(SampleResult.encode({ sequences, promptLogprobs: Float32Array.of(-1, -2) })), {
            headers: { "content-type": "application/x-protobuf" }
          })
      })
      const logprobs = yield* withTinker(
        service,
        Effect.flatMap(
          Tinker.Tinker,
          (tinker) =>
            Effect.flatMap(
              tinker.createSamplingClient({ baseModel: "fake" }),
              (client) => client.computeLogprobs(prompt)
            )
        )
      )
      assert.deepStrictEqual(logprobs, Float32Array.of(NaN, -1, -2))
    }))

  it.effect("a name that is taken is a typed failure, unless this client took it", () =>
    Effect.gen(function*() {
      const service = skyRL()
      const outcome = yield* withTinker(
        service,
        training((client) =>
          Effect.gen(function*() {
            const { path } = yield* run(client.saveState("one"))
            return [path, (yield* Effect.flip(run(client.saveState("one")))).reason._tag] as const
          })
        )
      )
      assert.deepStrictEqual(outcome, ["tinker://model/weights/one", "Rejected"])
    }))
})
