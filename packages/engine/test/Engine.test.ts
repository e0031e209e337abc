import { ChatModel, Loss, Message, Tinker, type TinkerError } from "@effect-rl/core"
import { Datum, ModelInput } from "@effect-rl/core/backend"
import { Tokenizer } from "@effect-rl/core/renderers"
import * as ModelConfigFile from "@effect-rl/engine/checkpoint/ModelConfigFile"
import * as Engine from "@effect-rl/engine/Engine"
import type { ModelConfig } from "@effect-rl/engine/model/ModelConfig"
import * as Weights from "@effect-rl/engine/model/Weights"
import * as Safetensors from "@effect-rl/engine/numerics/Safetensors"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Path } from "effect"
import * as GgufPreset from "./checkpoint/GgufPreset.ts"
import * as TestEngine from "./runtime/TestEngine.ts"
import * as TinyModel from "./TinyModel.ts"

const failure = (effect: Effect.Effect<unknown, TinkerError.TinkerError, never>) =>
  Effect.map(Effect.flip(effect), ({ message }) => message)

const start = (options: Engine.EngineOptions) =>
  Effect.flip(Layer.build(Engine.layerOptions(options))).pipe(Effect.scoped, Effect.provide(NodeServices.layer))

describe("Engine", () => {
  layer(TestEngine.layer(1))((it) => {
    const client = Effect.flatMap(
      Tinker.Tinker,
      (tinker) => tinker.createLoraTrainingClient({ baseModel: TestEngine.model, loraRank: 4, seed: 1 })
    )

    it.effect("lists its models and their capabilities", () =>
      Effect.gen(function*() {
        const tinker = yield* Tinker.Tinker
        assert.includeMembers([...(yield* tinker.models)], ["effect-rl/tiny-64", "effect-rl/tiny-128"])
        const { contextLength, tokenizerFingerprint, ...others } = yield* tinker.capabilities(TestEngine.model)
        assert.isAtLeast(contextLength, 1152)
        assert.deepStrictEqual(others, {
          lossReduction: "token-sum",
          seeds: "sample",
          promptLogprobs: true,
          topkPromptLogprobs: 20,
          sampling: ["topkSampleLogprobs", "targetPromptLogprobs", "grammar"],
          loraRank: [1, 128]
        })
        const tokenizer = yield* Effect.flatMap(Tokenizer.Tokenizers, (tokenizers) => tokenizers.load(TestEngine.model))
        assert.strictEqual(tokenizerFingerprint, tokenizer.fingerprint)
      }))

    it.effect("lists the available models in the error for an unknown model", () =>
      Effect.gen(function*() {
        const tinker = yield* Tinker.Tinker
        const baseModel = "Qwen/Qwen3-8B"
        const expected =
          `no model "Qwen/Qwen3-8B"; choose from: effect-rl/tiny-64, effect-rl/tiny-128, effect-rl/tiny-tasks, effect-rl/tiny-code, effect-rl/tiny-tools, effect-rl/tiny-questions`
        const calls = [
          ["capabilities", Effect.asVoid(tinker.capabilities(baseModel))],
          ["createSamplingClient", Effect.asVoid(tinker.createSamplingClient({ baseModel }))],
          ["createLoraTrainingClient", Effect.asVoid(tinker.createLoraTrainingClient({ baseModel }))]
        ] as const
        for (const [operation, call] of calls) {
          assert.strictEqual(yield* failure(Effect.scoped(call)), `${operation}: ${expected}`)
        }
        const tokenizers = yield* Tokenizer.Tokenizers
        const { message } = yield* Effect.flip(tokenizers.load(baseModel))
        assert.strictEqual(
          message,
          `tokenizer "${baseModel}": unknown; choose from: effect-rl/tiny-64, effect-rl/tiny-128, effect-rl/tiny-tasks, effect-rl/tiny-code, effect-rl/tiny-tools, effect-rl/tiny-questions`
        )
      }))

    it.effect("explains invalid options of a training client", () =>
      Effect.gen(function*() {
        const tinker = yield* Tinker.Tinker
        const create = (options: Partial<Tinker.LoraOptions>) =>
          failure(Effect.scoped(tinker.createLoraTrainingClient({ baseModel: TestEngine.model, ...options })))
        assert.strictEqual(
          yield* create({ loraRank: 129 }),
          "createLoraTrainingClient: loraRank is not supported: loraRank is 129, expected a whole number from 1 to 128"
        )
        assert.strictEqual(
          yield* create({ trainAttn: false, trainMlp: false, trainUnembed: false }),
          "createLoraTrainingClient: trainAttn, trainMlp and trainUnembed are all false, expected one to be true"
        )
      }))

    it.effect("explains an invalid sample request", () =>
      Effect.gen(function*() {
        const tinker = yield* Tinker.Tinker
        const sampler = yield* tinker.createSamplingClient({ baseModel: TestEngine.model })
        const prompt = ModelInput.fromTokens([1, 2, 3])
        const params = { maxTokens: 4 }
        const image = { _tag: "Image", data: new Uint8Array(), format: "png", expectedTokens: 2 } as const
        for (
          const [expected, request] of [
            ["prompt.length is 0, expected at least 1", { prompt: ModelInput.empty, params }],
            ["prompt.chunks[0].tokens[1] is 512, expected a token id from 0 to 511", {
              prompt: ModelInput.fromTokens([1, 512]),
              params
            }],
            ["images is not supported: chunk 0 is Image, expected text", {
              prompt: ModelInput.fromChunks([image]),
              params
            }],
            ["numSamples is 0, expected a whole number above 0", { prompt, params, numSamples: 0 }],
            ["params.maxTokens is 0.5, expected a whole number above 0", { prompt, params: { maxTokens: 0.5 } }],
            ["params.temperature is -1, expected a finite number of at least 0", {
              prompt,
              params: { ...params, temperature: -1 }
            }],
            ["params.topP is 0, expected above 0 and at most 1", { prompt, params: { ...params, topP: 0 } }],
            [
              "params.topK is 1.5, expected a whole number",
              { prompt, params: { ...params, topK: 1.5 } }
            ],
            ["params.seed is NaN, expected a whole number", { prompt, params: { ...params, seed: NaN } }],
            ["params.stop[0] is empty, expected text", { prompt, params: { ...params, stop: [""] } }],
            [
              "prompt of 3 tokens and 1150 to sample exceed the context of 1152: shorten the prompt or lower maxTokens",
              { prompt, params: { maxTokens: 1150 } }
            ]
          ] as const
        ) assert.strictEqual(yield* failure(sampler.sample(request)), `sample: ${expected}`)
      }))

    it.effect("explains invalid training data", () =>
      Effect.gen(function*() {
        const { forwardBackward } = yield* client
        const modelInput = ModelInput.fromTokens([1, 2])
        const two = Float32Array.of(1, 1)
        const policy = (inputs: Partial<Datum.Inputs["PolicyTokens"]>) =>
          Datum.policyTokens(modelInput, {
            targetTokens: Int32Array.of(2, 3),
            logprobs: Float32Array.of(-1, -1),
            advantages: two,
            mask: two,
            ...inputs
          })
        const unknownKey = { ...Loss.ppo(), config: { ...Loss.ppo().config, kl_coef: 1 } }
        for (
          const [expected, datum, loss] of [
            ["data[0].inputs.logprobs has 1 values, expected 2", policy({ logprobs: Float32Array.of(-1) }), Loss.ppo()],
            [
              "data[0].inputs.targetTokens[0] is -1, expected a token id from 0 to 511",
              policy({ targetTokens: Int32Array.of(-1, 3) }),
              Loss.ppo()
            ],
            [
              "data[0].inputs.advantages[1] is NaN, expected a finite number",
              policy({ advantages: Float32Array.of(1, NaN) }),
              Loss.ppo()
            ],
            [
              "data[0].inputs.advantages[0] is 1, expected 0 where the mask is 0",
              policy({ mask: Float32Array.of(0, 1) }),
              Loss.ppo()
            ],
            [
              "data[0].inputs.logprobs[1] is NaN, expected a number where the mask is not 0",
              policy({ logprobs: Float32Array.of(-1, NaN) }),
              Loss.ppo()
            ],
            [
              "ppo config is kl_coef, expected clip_low_threshold, clip_high_threshold",
              policy({}),
              unknownKey
            ]
          ] as const
        ) assert.strictEqual(yield* failure(forwardBackward([datum], loss)), `forwardBackward: ${expected}`)
        const long = TestEngine.textDatum(TestEngine.prompt(1, 1154))
        assert.strictEqual(
          yield* failure(forwardBackward([long], Loss.crossEntropy)),
          "forwardBackward: 1153 tokens exceed the context of 1152: shorten them"
        )
      }))

    it.effect("explains invalid optimizer parameters and an invalid custom-loss gradient", () =>
      Effect.gen(function*() {
        const { forwardBackwardCustom, optimStep } = yield* client
        assert.strictEqual(
          yield* failure(optimStep({ learningRate: NaN })),
          "optimStep: learningRate is NaN, expected a finite number of at least 0"
        )
        const datum = TestEngine.textDatum(TestEngine.prompt(1, 4))
        const custom = (gradient: Float32Array) =>
          failure(
            Effect.flatMap(
              forwardBackwardCustom([datum], () => Effect.succeed({ loss: 0, gradients: [gradient] })),
              (pending) => pending.await
            )
          )
        assert.strictEqual(
          yield* custom(Float32Array.of(0)),
          "forwardBackwardCustom: gradients[0] has 1 values, expected 3"
        )
        assert.strictEqual(
          yield* custom(Float32Array.of(0, NaN, 0)),
          "forwardBackwardCustom: gradients[0][1] is NaN, expected a finite number"
        )
      }))

    it.effect("refuses a checkpoint of another adapter and keeps working", () =>
      Effect.gen(function*() {
        const tinker = yield* Tinker.Tinker
        const [small, large] = [yield* client, yield* tinker.createLoraTrainingClient({ baseModel: TestEngine.model })]
        const { path } = yield* Effect.flatMap(large.saveState("one"), (pending) => pending.await)
        const pending = yield* small.loadState(path)
        const targets = "alpha 32 on query, key, value, output, gate, up, down, head"
        assert.strictEqual(
          yield* failure(pending.await),
          `loadState: ${path} has rank 32, ${targets}; this client has rank 4, ${targets}`
        )
        const next = yield* small.saveState("two")
        assert.strictEqual((yield* next.await).path, `engine://${small.info.modelId}/weights/two`)
      }))
  })

  it.effect("serves a model from a folder under the given path", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const folder = yield* fs.makeTempDirectoryScoped()
      const preset = path.join(import.meta.dirname, "..", "presets", "tiny-64")
      for (const name of yield* fs.readDirectory(preset)) {
        yield* fs.copyFile(path.join(preset, name), path.join(folder, name))
      }
      const scores = (baseModel: string) =>
        Effect.gen(function*() {
          const tinker = yield* Tinker.Tinker
          const sampler = yield* tinker.createSamplingClient({ baseModel })
          return yield* sampler.computeLogprobs(TestEngine.prompt(1))
        })
      const [copy, original] = yield* Effect.all([scores(folder), scores(TestEngine.model)]).pipe(
        Effect.provide(Engine.layerOptions({ checkpoints: folder, models: [folder], workers: 0 }))
      )
      assert.deepStrictEqual(copy, original)
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("serves a GGUF file with the tokenizer and renderer from its metadata", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const folder = yield* fs.makeTempDirectoryScoped()
      const file = path.join(folder, "tiny.gguf")
      yield* fs.writeFile(file, yield* GgufPreset.encode)
      const answers = (name: string) =>
        Effect.gen(function*() {
          const { renderer, tokenizer } = yield* ChatModel.resolve(name)
          const prompt = yield* renderer.generationPrompt([Message.user("What is 2 + 3?")])
          const tinker = yield* Tinker.Tinker
          const client = yield* tinker.createLoraTrainingClient({ baseModel: name, loraRank: 4, seed: 1 })
          const data = [TestEngine.textDatum(prompt)] as const
          yield* client.forwardBackward(data, Loss.crossEntropy)
          yield* Effect.flatMap(client.optimStep({ learningRate: 1e-3 }), (pending) => pending.await)
          const sampler = yield* client.saveWeightsAndGetSamplingClient
          const params = { maxTokens: 20, seed: 7, stop: renderer.stop }
          const { sequences } = yield* sampler.sample({ prompt, params })
          return [renderer.name, ...sequences.map(({ logprobs, tokens }) => [tokenizer.decode(tokens), logprobs])]
        })
      const [packed, original] = yield* Effect.all([answers(file), answers(TestEngine.model)]).pipe(
        Effect.provide(Engine.layerOptions({ checkpoints: folder, models: [file], workers: 0 }))
      )
      assert.deepStrictEqual(packed, original)
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("reports the needed memory before it reads a model that does not fit", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const folder = yield* fs.makeTempDirectoryScoped()
      const config: ModelConfig = {
        ...TinyModel.llama,
        vocabularySize: 128_256,
        hiddenSize: 4096,
        feedForwardSize: 14_336,
        heads: 32,
        keyHeads: 8,
        headSize: 128
      }
      const fields = { ...ModelConfigFile.toFields(config), tie_word_embeddings: false }
      yield* fs.writeFileString(path.join(folder, "config.json"), JSON.stringify(fields))
      yield* fs.copyFile(path.join(GgufPreset.folder, "tokenizer.json"), path.join(folder, "tokenizer.json"))
      const tensors = Weights.tensors(config).map((tensor) => ({ ...tensor, dtype: "F32" as const }))
      const { bytes } = Safetensors.header(tensors)
      const values = tensors.reduce(
        (sum, { shape }) => sum + shape.reduce((product: number, size) => product * size, 1),
        0
      )
      const file = path.join(folder, "model.safetensors")
      yield* fs.writeFile(file, bytes)
      yield* fs.truncate(file, bytes.length + 4 * values)
      const program = Effect.gen(function*() {
        const tinker = yield* Tinker.Tinker
        return yield* failure(Effect.scoped(tinker.createSamplingClient({ baseModel: folder })))
      })
      assert.match(
        yield* program.pipe(Effect.provide(Engine.layerOptions({ checkpoints: folder, models: [folder], workers: 1 }))),
        /takes 5\.\d\d GiB .*; 4\.00 GiB of the engine's memory are free: close unused clients, or use a smaller model/
      )
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("serves a model under a custom name", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const checkpoints = yield* fs.makeTempDirectoryScoped()
      const scores = (baseModel: string) =>
        Effect.gen(function*() {
          const tinker = yield* Tinker.Tinker
          yield* Tokenizer.Tokenizers.use(({ load }) => load(baseModel))
          const client = yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 4, seed: 1 })
          const { path } = yield* Effect.flatMap(client.saveWeightsForSampler("named"), (pending) => pending.await)
          return yield* Effect.flatMap(
            tinker.createSamplingClient({ modelPath: path }),
            ({ computeLogprobs }) => computeLogprobs(TestEngine.prompt(1))
          )
        })
      const models = [{ name: "acme/large", place: TestEngine.model }]
      const [named, original] = yield* Effect.all([scores("acme/large"), scores(TestEngine.model)]).pipe(
        Effect.provide(Engine.layerOptions({ checkpoints, models, workers: 0 }))
      )
      assert.deepStrictEqual(named, original)
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("does not start with an invalid option", () =>
    Effect.gen(function*() {
      const twice = yield* start({ models: [{ name: TestEngine.model, place: "smollm2" }] })
      assert.include(twice.message, "two models are called")
      const unreadable = { name: "acme/large", place: "/no/such/model" }
      const both = yield* start({ models: [unreadable, { ...unreadable, place: "/no/such/other" }] })
      assert.include(both.message, "two models are called \"acme/large\"")
      const workers = yield* start({ workers: -1 })
      assert.strictEqual(workers.message, "the engine cannot start: workers is -1, expected a whole number from 0")
    }))

  it.effect("serves its other models if one cannot be used", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const checkpoints = yield* fs.makeTempDirectoryScoped()
      const program = Effect.gen(function*() {
        const tinker = yield* Tinker.Tinker
        assert.notInclude([...(yield* tinker.models)], "/no/such/model")
        const message = yield* failure(Effect.scoped(tinker.createSamplingClient({ baseModel: "/no/such/model" })))
        assert.include(message, "createSamplingClient: /no/such/model: config.json cannot be read")
        yield* tinker.createSamplingClient({ baseModel: TestEngine.model })
      })
      yield* program.pipe(Effect.provide(Engine.layerOptions({ checkpoints, models: ["/no/such/model"], workers: 0 })))
    }).pipe(Effect.provide(NodeServices.layer)))
})
