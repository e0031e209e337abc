import { Message } from "@effect-rl/core"
import { type Renderer, Renderers } from "@effect-rl/core/renderers"
import { RendererLaws, TestTokenizer } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const tokenizer = TestTokenizer.characters

const sound = Effect.runSync(Renderers.byName("qwen3_instruct", tokenizer))

/** The names of the laws that a renderer breaks. */
const broken = (renderer: Renderer.Renderer) =>
  Effect.map(
    Effect.forEach(
      RendererLaws.rendererLaws(renderer, tokenizer),
      ({ check, name }) => Effect.match(check, { onFailure: () => [name], onSuccess: () => [] })
    ),
    (names) => names.flat()
  )

const laws = RendererLaws.rendererLaws(sound, tokenizer).map(({ name }) => name)
const [trains = "", reads = "", extended = "", streams = "", marks = ""] = laws

const mutants: ReadonlyArray<readonly [fault: string, law: string, renderer: Renderer.Renderer]> = [
  ["trains the whole conversation", trains, {
    ...sound,
    supervisedExample: (messages) => sound.supervisedExample(messages, "all_tokens")
  }],
  ["reads a response with its stop missing", reads, {
    ...sound,
    parse: (tokens) => Effect.map(sound.parse(tokens), (parsed) => ({ ...parsed, termination: "malformed" }))
  }],
  ["reads another answer", reads, {
    ...sound,
    parse: (tokens) => Effect.map(sound.parse(tokens), (parsed) => ({ ...parsed, message: Message.assistant("?") }))
  }],
  ["shows the last message alone", extended, {
    ...sound,
    generationPrompt: (messages, options) => sound.generationPrompt(messages.slice(-1), options)
  }],
  ["drops what comes after the first piece", streams, {
    ...sound,
    stream: (messages) => {
      const reading = sound.stream(messages)
      let pushed = false
      return {
        ...reading,
        push: (tokens) => {
          const deltas = reading.push(tokens)
          const passed = pushed ? [] : deltas
          pushed = true
          return passed
        }
      }
    }
  }],
  ["lets a user's text spell marks", marks, {
    ...sound,
    generationPrompt: (messages, options) =>
      sound.generationPrompt(
        messages.flatMap((message) =>
          Message.text(message).includes("<|im_end|>") ? [message, Message.user("more")] : [message]
        ),
        options
      )
  }]
]

describe("the renderer laws", () => {
  it.effect("hold for a correct renderer", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* broken(sound), [])
    }))

  it.effect.each(mutants)("detect a renderer that %s", ([, law, renderer]) =>
    Effect.gen(function*() {
      assert.include(yield* broken(renderer), law)
    }))

  it.effect("report expected and actual values", () =>
    Effect.gen(function*() {
      const mute: Renderer.Renderer = {
        ...sound,
        parse: (tokens) => Effect.map(sound.parse(tokens), (parsed) => ({ ...parsed, message: Message.assistant("?") }))
      }
      const [, law] = RendererLaws.rendererLaws(mute, tokenizer)
      const { message } = yield* Effect.flip(law?.check ?? Effect.die("no law"))
      assert.strictEqual(message, "reads the answer that it writes: expected the answer \"5\", found \"?\"")
    }))
})
