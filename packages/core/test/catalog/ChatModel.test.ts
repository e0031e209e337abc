import { ChatModel, Tinker, TinkerError } from "@effect-rl/core"
import type { Capabilities } from "@effect-rl/core/backend"
import { type JinjaTemplate, Tokenizer } from "@effect-rl/core/renderers"
import * as Qwen3 from "@effect-rl/core/renderers/qwen/Qwen3"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Result } from "effect"
import * as CharTokenizer from "../renderers/CharTokenizer.ts"

/** A chat template that must not be rendered. */
const template = (source: string): JinjaTemplate.JinjaTemplate => ({ source, write: () => Result.fail("not written") })

const capabilities: Capabilities.Capabilities = {
  contextLength: 512,
  lossReduction: "token-sum",
  seeds: "sample",
  promptLogprobs: true,
  topkPromptLogprobs: 0,
  loraRank: [1, 64]
}

/** A backend that has only these models. */
const backend = (models: Record<string, Partial<Capabilities.Capabilities>>) =>
  Layer.mock(Tinker.Tinker, {
    capabilities: (name) => {
      const own = models[name]
      if (own !== undefined) return Effect.succeed({ ...capabilities, ...own })
      const reason = new TinkerError.NotFound({ kind: "model", name, available: Object.keys(models) })
      return Effect.fail(new TinkerError.TinkerError({ operation: "capabilities", reason }))
    }
  })

/** A tokenizer service that has only these names. */
const tokenizers = (byName: Record<string, Tokenizer.Tokenizer>) =>
  Layer.succeed(Tokenizer.Tokenizers, {
    load: (name) => {
      const found = byName[name]
      return found === undefined
        ? Effect.fail(new Tokenizer.TokenizerError({ tokenizer: name, detail: "not here" }))
        : Effect.succeed(found)
    }
  })

const qwenOnly = Layer.merge(
  backend({ "Qwen/Qwen3-8B": {}, "Qwen/Qwen3-8B:peft:131072": { contextLength: 131072 }, "my-org/my-qwen": {} }),
  tokenizers({ "Qwen/Qwen3-8B": CharTokenizer.qwen, "my-org/my-qwen": CharTokenizer.qwen })
)

describe("ChatModel.resolve", () => {
  it.effect("takes tokenizer and renderer from the registry", () =>
    Effect.gen(function*() {
      const model = yield* ChatModel.resolve("Qwen/Qwen3-8B")
      assert.strictEqual(model.name, "Qwen/Qwen3-8B")
      assert.strictEqual(model.renderer.name, "qwen3")
      assert.strictEqual(model.tokenizer, CharTokenizer.qwen)
      assert.deepStrictEqual(model.capabilities, capabilities)
    }).pipe(Effect.provide(qwenOnly)))

  it.effect("asks the backend for the named variant, and loads the tokenizer of the model without the variant", () =>
    Effect.gen(function*() {
      const model = yield* ChatModel.resolve("Qwen/Qwen3-8B:peft:131072")
      assert.strictEqual(model.capabilities.contextLength, 131072)
      assert.strictEqual(model.renderer.name, "qwen3")
    }).pipe(Effect.provide(qwenOnly)))

  it.effect("never overrides the caller's renderer", () =>
    Effect.gen(function*() {
      const model = yield* ChatModel.resolve("Qwen/Qwen3-8B", { renderer: "role_colon" })
      assert.strictEqual(model.renderer.name, "role_colon")
    }).pipe(Effect.provide(qwenOnly)))

  it.effect("warns of a named renderer that is not for the model", () => {
    const warnings: Array<string> = []
    const logger = Logger.make(({ message }) => void warnings.push(String(message)))
    return Effect.gen(function*() {
      yield* ChatModel.resolve("Qwen/Qwen3-8B")
      yield* ChatModel.resolve("Qwen/Qwen3-8B", { renderer: "qwen3_disable_thinking" })
      assert.deepStrictEqual(warnings, [])
      yield* ChatModel.resolve("Qwen/Qwen3-8B", { renderer: "role_colon" })
      assert.strictEqual(warnings.length, 1)
      assert.include(warnings[0], "the renderer \"role_colon\" is not one of those for Qwen/Qwen3-8B (qwen3, ")
    }).pipe(Effect.provide([qwenOnly, Logger.layer([logger])]))
  })

  it.effect("takes a custom renderer, or a function that makes one", () =>
    Effect.gen(function*() {
      const own = { ...(yield* Qwen3.qwen3(CharTokenizer.qwen)), name: "my-renderer" }
      assert.strictEqual(
        (yield* ChatModel.resolve("my-org/my-qwen", { renderer: own, tokenizer: "Qwen/Qwen3-8B" })).renderer,
        own
      )
      const made = yield* ChatModel.resolve("Qwen/Qwen3-8B", { renderer: Qwen3.qwen3Instruct })
      assert.strictEqual(made.renderer.name, "qwen3_instruct")
    }).pipe(Effect.provide(qwenOnly)))

  it.effect("takes a custom tokenizer, whose fingerprint must match the model's", () =>
    Effect.gen(function*() {
      const model = yield* ChatModel.resolve("Qwen/Qwen3-8B", { tokenizer: CharTokenizer.qwen })
      assert.strictEqual(model.tokenizer, CharTokenizer.qwen)
      const other = { ...CharTokenizer.qwen, fingerprint: "sha256:own" }
      const error = yield* Effect.flip(ChatModel.resolve("Qwen/Qwen3-8B", { tokenizer: other }))
      assert.include(error.message, "the tokenizer that was passed (sha256:own) is not the one")
    }).pipe(Effect.provide([
      backend({ "Qwen/Qwen3-8B": { tokenizerFingerprint: CharTokenizer.qwen.fingerprint } }),
      tokenizers({})
    ])))

  it.effect("explains why a known model has no renderer in this library", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(
        ChatModel.resolve("moonshotai/Kimi-K3.1-Pro", { tokenizer: CharTokenizer.qwen })
      )
      assert.strictEqual(error._tag, "RendererError")
      assert.include(error.message, "not available here: upstream writes it by versions")
    }).pipe(Effect.provide([backend({ "moonshotai/Kimi-K3.1-Pro": {} }), tokenizers({})])))

  it.effect.each(["effect-rl/tiny-64", "effect-rl/tiny-128"])(
    "renders the preset %s as qwen3_instruct",
    (name) =>
      Effect.gen(function*() {
        const model = yield* ChatModel.resolve(name)
        assert.strictEqual(model.renderer.name, "qwen3_instruct")
      }).pipe(
        Effect.provide([backend({ [name]: {} }), tokenizers({ [name]: CharTokenizer.qwen })])
      )
  )

  const templates = [
    ["{% if enable_thinking %}{{ '<|im_start|>' }}", "qwen3"],
    ["{{ '<|im_start|>' + message['role'] }}", "qwen3_instruct"],
    ["{{ '<|im_start|>system\\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face' }}", "smollm2"]
  ] as const
  it.effect.each(templates)(
    "recognises the chat template %s of an unknown model",
    ([chatTemplate, renderer]) =>
      Effect.gen(function*() {
        const model = yield* ChatModel.resolve("/models/own")
        assert.strictEqual(model.renderer.name, renderer)
      }).pipe(
        Effect.provide([
          backend({ "/models/own": {} }),
          tokenizers({ "/models/own": { ...CharTokenizer.qwen, chatTemplate: template(chatTemplate) } })
        ])
      )
  )

  it.effect("tries an unknown chat template with a default system message, and reports the template's error", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(ChatModel.resolve("/models/own"))
      assert.strictEqual(error.message, "renderer \"chat_template\": the chat template failed: not written")
    }).pipe(
      Effect.provide([
        backend({ "/models/own": {} }),
        tokenizers({
          "/models/own": { ...CharTokenizer.qwen, chatTemplate: template("<|im_start|>system\nYou are Qwen") }
        })
      ])
    ))

  it.effect("loads the ungated copy of Llama 3's tokenizer", () =>
    Effect.gen(function*() {
      const model = yield* ChatModel.resolve("meta-llama/Llama-3.1-8B", { renderer: "llama3" })
      assert.strictEqual(model.tokenizer, CharTokenizer.llama)
    }).pipe(Effect.provide([
      backend({ "meta-llama/Llama-3.1-8B": {} }),
      tokenizers({ "thinkingmachineslabinc/meta-llama-3-instruct-tokenizer": CharTokenizer.llama })
    ])))
})

describe("ChatModel.resolve fails", () => {
  it.effect("with the backend's error, which lists its models, if the backend does not have the model", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(ChatModel.resolve("Qwen/Qwen3-80B"))
      assert.strictEqual(error._tag, "TinkerError")
      assert.include(error.message, "no model \"Qwen/Qwen3-80B\"; choose from: Qwen/Qwen3-8B")
    }).pipe(Effect.provide(qwenOnly)))

  it.effect("if a model outside the registry has no renderer, and lists the choices", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(ChatModel.resolve("my-org/my-qwen"))
      assert.strictEqual(error._tag, "ChatModelError")
      assert.include(error.message, "pass renderer, one of: role_colon, llama3, llama3_tools, qwen3,")
      const model = yield* ChatModel.resolve("my-org/my-qwen", { renderer: "qwen3" })
      assert.strictEqual(model.renderer.name, "qwen3")
    }).pipe(Effect.provide(qwenOnly)))

  it.effect("with the tokenizer service's error if the tokenizer is missing", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(ChatModel.resolve("Qwen/Qwen3-8B", { tokenizer: "elsewhere" }))
      assert.strictEqual(error._tag, "TokenizerError")
    }).pipe(Effect.provide(qwenOnly)))

  it.effect("if the tokenizer lacks a special token of the renderer", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(ChatModel.resolve("Qwen/Qwen3-8B", { renderer: "llama3" }))
      assert.strictEqual(error._tag, "RendererError")
      assert.include(error.message, "<|begin_of_text|>")
    }).pipe(Effect.provide(qwenOnly)))

  it.effect("if its fingerprint differs from that of the tokenizer that the model was trained with", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(ChatModel.resolve("Qwen/Qwen3-8B"))
      assert.strictEqual(error._tag, "ChatModelError")
      assert.include(error.message, "loaded from \"Qwen/Qwen3-8B\"")
      assert.include(error.message, "(sha256:other)")
      assert.include(error.message, "pass tokenizer")
    }).pipe(Effect.provide([
      backend({ "Qwen/Qwen3-8B": { tokenizerFingerprint: "sha256:other" } }),
      tokenizers({ "Qwen/Qwen3-8B": CharTokenizer.qwen })
    ])))

  it.effect("but accepts a tokenizer that has the fingerprint of the model", () =>
    Effect.gen(function*() {
      const model = yield* ChatModel.resolve("Qwen/Qwen3-8B")
      assert.strictEqual(model.capabilities.tokenizerFingerprint, model.tokenizer.fingerprint)
    }).pipe(Effect.provide([
      backend({ "Qwen/Qwen3-8B": { tokenizerFingerprint: CharTokenizer.qwen.fingerprint } }),
      tokenizers({ "Qwen/Qwen3-8B": CharTokenizer.qwen })
    ])))
})
