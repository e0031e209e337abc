import { ChatModel, Message, MessagePolicy, Tinker, TinkerError } from "@effect-rl/core"
import { Seed } from "@effect-rl/core/environments"
import { Call, Fault, Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"

const tokenizer = TestTokenizer.characters

const make = Effect.gen(function*() {
  const tinker = yield* Tinker.Tinker
  const model = yield* ChatModel.resolve(Script.defaultModel, { renderer: "qwen3_instruct" })
  const client = yield* tinker.createSamplingClient({ baseModel: Script.defaultModel })
  return { model, policy: MessagePolicy.fromSamplingClient(client, { model, maxTokens: 8, temperature: 0.5, seed: 5 }) }
})

const asked = Effect.gen(function*() {
  const { calls } = yield* Call.CallLog
  return (yield* calls).filter(Call.Call.$is("Sample")).map(({ request }) => request)
})

const backend = (script: Script.Script) => Layer.merge(ScriptedTinker.layer(script), TestTokenizer.layer(tokenizer))

const says = (text: string) => Script.reply(tokenizer, () => Script.text(tokenizer, text))

describe("MessagePolicy.fromSamplingClient", () => {
  it.effect("renders the conversation, and answers with a message", () =>
    Effect.gen(function*() {
      const { model, policy } = yield* make
      const messages = [Message.system("Be brief."), Message.user("Hi")]
      assert.deepStrictEqual(
        yield* policy.respond({ messages, key: "judge/0" }),
        { role: "assistant", content: "Hello" }
      )
      assert.deepStrictEqual(yield* asked, [{
        prompt: yield* model.renderer.generationPrompt(messages),
        params: { maxTokens: 8, temperature: 0.5, stop: model.renderer.stop, seed: Seed.derive(5, "judge/0") }
      }])
    }).pipe(Effect.provide(backend({ sample: says("Hello<|im_end|>") }))))

  it.effect("returns the beginning of a response that was cut", () =>
    Effect.gen(function*() {
      const { policy } = yield* make
      const message = yield* policy.respond({ messages: [Message.user("Hi")], key: "" })
      assert.strictEqual(Message.text(message), "Hel")
    }).pipe(Effect.provide(backend({ sample: says("Hel") }))))

  it.effect("fails with the backend's error", () =>
    Effect.gen(function*() {
      const { policy } = yield* make
      const error = yield* Effect.flip(policy.respond({ messages: [Message.user("Hi")], key: "" }))
      assert.strictEqual(error._tag, "TinkerError")
    }).pipe(
      Effect.provide(
        backend({ faults: [Fault.call("Sample", 0, Fault.fail(new TinkerError.Unavailable({ detail: "away" })))] })
      )
    ))
})
