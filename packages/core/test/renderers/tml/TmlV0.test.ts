/** Tests features of TML v0 that `Recorded.test.ts` does not compare: effort, images and refusals. */
import { Message } from "@effect-rl/core"
import type { ModelInput } from "@effect-rl/core/backend"
import type { Renderer } from "@effect-rl/core/renderers"
import * as TmlV0 from "@effect-rl/core/renderers/tml/TmlV0"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as CharTokenizer from "../CharTokenizer.ts"

const tokenizer = CharTokenizer.of("tml")

const shown = (input: ModelInput.ModelInput) =>
  input.chunks.map((chunk) => chunk._tag === "Image" ? `[${chunk.expectedTokens}]` : tokenizer.decode(chunk.tokens))
    .join("")

const failure = <A>(effect: Effect.Effect<A, Renderer.RendererError>) =>
  Effect.map(Effect.flip(effect), (error) => error.message)

const effort = (text: string) => `<|message_system|><|content_text|>Thinking effort level: ${text}<|end_message|>`

/** The beginning of a PNG file, with its size. */
const image = (width: number, height: number): Message.Message => {
  const data = new Uint8Array(33)
  data.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52])
  const view = new DataView(data.buffer)
  view.setUint32(16, width)
  view.setUint32(20, height)
  return { role: "user", content: [{ type: "text", text: "See" }, { type: "image", data, format: "png" }] }
}

describe("TML v0", () => {
  it.effect.each([[0, "0"], [0.2, "0.2"], [0.99, "0.99"], [0.123, "0.12"]] as const)(
    "writes an effort of %d after the system prompt as %s",
    ([value, text]) =>
      Effect.gen(function*() {
        const renderer = yield* TmlV0.atEffort(value)(tokenizer)
        const prompt = yield* renderer.generationPrompt([Message.system("Be brief."), Message.user("Hi")])
        const system = "<|message_system|><|content_text|>Be brief.<|end_message|>"
        assert.strictEqual(shown(prompt), `${system}${effort(text)}<|message_user|><|content_text|>Hi<|end_message|>`)
      })
  )

  it.effect.each([-0.1, 1, Number.NaN])("refuses an effort of %d", (value) =>
    Effect.gen(function*() {
      assert.include(yield* failure(TmlV0.atEffort(value)(tokenizer)), "expected from 0 to less than 1")
    }))

  // Results of the published package.
  it.effect.each([[40, 40, 2], [80, 80, 6], [640, 480, 204], [4000, 4000, 10100]] as const)(
    "writes an image of %i by %i pixels as a message of %i positions",
    ([width, height, positions]) =>
      Effect.gen(function*() {
        const renderer = yield* TmlV0.tmlV0(tokenizer)
        const turn =
          `<|message_user|><|content_text|>See<|end_message|><|message_user|><|content_image|>[${positions}]<|end_message|>`
        assert.strictEqual(shown(yield* renderer.generationPrompt([image(width, height)])), `${effort("0.9")}${turn}`)
      })
  )

  it.effect("trains only the tokens of the answer if an image precedes it", () =>
    Effect.gen(function*() {
      const renderer = yield* TmlV0.tmlV0(tokenizer)
      const conversation = [image(80, 80), Message.assistant("A cat.")]
      const { input, weights } = yield* renderer.supervisedExample(conversation, "last_assistant_message")
      const answer = "<|message_model|><|content_text|>A cat.<|end_message|><|content_model_end_sampling|>"
      assert.isTrue(shown(input).endsWith(`[6]<|end_message|>${answer}`))
      assert.strictEqual(weights.length, input.length)
      assert.strictEqual(weights.reduce((sum, weight) => sum + weight, 0), tokenizer.encode(answer).length)
      assert.isTrue(weights.slice(-tokenizer.encode(answer).length).every((weight) => weight === 1))
    }))

  it.effect("refuses an unknown role, and to generate a turn of a role other than assistant", () =>
    Effect.gen(function*() {
      const renderer = yield* TmlV0.tmlV0(tokenizer)
      const messages = [Message.user("Hi")]
      assert.include(
        yield* failure(renderer.generationPrompt([{ role: "critic", content: "Bad." }])),
        "the model knows no role \"critic\""
      )
      assert.include(
        yield* failure(renderer.generationPrompt(messages, { role: "user" })),
        "the next role is \"user\", expected \"assistant\""
      )
      assert.include(
        yield* failure(renderer.supervisedExample(messages, "last_assistant_message")),
        "has no message that \"last_assistant_message\" trains"
      )
    }))
})
