/** Samples that a grammar constrains to tool calls. */
import { ChatModel, Message, Tinker } from "@effect-rl/core"
import type { Sampling } from "@effect-rl/core/backend"
import { type CallForm, HeldResponse, Renderer } from "@effect-rl/core/renderers"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as TestEngine from "./TestEngine.ts"

const tag = { type: "string", enum: ["a", "b/c\n"] } as const

const tools = {
  add: {
    name: "add",
    description: "",
    parameters: {
      type: "object",
      properties: { a: { type: "integer" }, b: { type: "integer", minimum: 1 } },
      required: ["a", "b"]
    }
  },
  note: {
    name: "note",
    description: "",
    parameters: {
      type: "object",
      properties: { text: { type: "string" }, tags: { type: "array", items: tag, maxItems: 2 } },
      required: ["text"]
    }
  }
} as const

/** A whole number, which may be too large to be exact. */
const Whole = Schema.Number.check(Schema.makeFilter(Number.isInteger))

const Add = Schema.Struct({ a: Whole, b: Whole.check(Schema.isGreaterThanOrEqualTo(1)) })

const Note = Schema.Struct({
  text: Schema.String,
  tags: Schema.optionalKey(Schema.Array(Schema.Literals(["a", "b/c\n"])).check(Schema.isMaxLength(2)))
})

const isRight = ({ function: { arguments: given, name } }: Message.ToolCall) => {
  const value: unknown = JSON.parse(given)
  return name === "add" ? Schema.is(Add)(value) : name === "note" && Schema.is(Note)(value)
}

const messages = [Message.user("2 + 2?")]

/** The completed samples under a grammar, and what the renderer parses from them. */
const replies = Effect.fnUntraced(function*(
  renderer: string,
  asked: Pick<CallForm.Asked, "isForced" | "isOne">,
  names: ReadonlyArray<keyof typeof tools>,
  seed = 1
) {
  const model = yield* ChatModel.resolve(TestEngine.model, { renderer })
  const called = names.map((name) => tools[name])
  const held = yield* HeldResponse.calls(model, messages, {
    ...asked,
    tools: called.map((spec) => ({ spec, isStrict: true }))
  })
  const grammar = yield* Effect.fromResult(held)
  const prompt = yield* model.renderer.generationPrompt(yield* Renderer.withTools(model.renderer, called, messages))
  const client = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ baseModel: model.name }))
  const params = { maxTokens: 160, seed, stop: model.renderer.stop }
  const { sequences } = yield* client.sample({ prompt, params, grammar, numSamples: 16 })
  const ended = sequences.filter(({ stopReason }) => stopReason === "stop")
  assert.isAbove(ended.length, 0)
  return { ended, read: yield* Effect.forEach(ended, ({ tokens }) => model.renderer.parse(tokens)) }
}, Effect.scoped)

const forced = { isForced: true, isOne: false }

const isMasked = ({ logprobs, maskedLogprobs = new Float32Array(0) }: Sampling.SampledTokens) =>
  maskedLogprobs.length === logprobs.length && maskedLogprobs.every((value, t) => value >= (logprobs[t] ?? 0) - 1e-5)

describe("sampling tool calls", () => {
  layer(TestEngine.layer(2))("with the renderers whose calls are JSON", (it) => {
    it.effect("yields only tool calls with valid arguments if calls are forced", () =>
      Effect.gen(function*() {
        for (const seed of [1, 101]) {
          const { ended, read } = yield* replies("qwen3_instruct", forced, ["add", "note"], seed)
          for (const { message, termination } of read) {
            assert.deepStrictEqual([termination, Message.text(message).trim()], ["stop_sequence", ""])
            assert.isUndefined(message.unparsedToolCalls)
            assert.isAtLeast(message.toolCalls?.length ?? 0, 1)
            assert.isTrue(message.toolCalls?.every(isRight))
          }
          assert.isTrue(ended.every(isMasked))
        }
      }))

    for (const renderer of ["qwen3", "qwen3_disable_thinking", "qwen3_instruct"]) {
      it.effect(`yields exactly one call of the named tool, as ${renderer} parses it`, () =>
        Effect.gen(function*() {
          const { read } = yield* replies(renderer, { ...forced, isOne: true }, ["add"])
          for (const { message: { toolCalls = [], unparsedToolCalls } } of read) {
            assert.deepStrictEqual(toolCalls.map((call) => [call.function.name, isRight(call)]), [["add", true]])
            assert.isUndefined(unparsedToolCalls)
          }
        }))
    }

    it.effect("yields text without calls, or valid calls, if no call is forced", () =>
      Effect.gen(function*() {
        const { ended, read } = yield* replies("qwen3_instruct", { ...forced, isForced: false }, ["add"])
        for (const { message: { toolCalls = [], unparsedToolCalls } } of read) {
          assert.isUndefined(unparsedToolCalls)
          assert.isTrue(toolCalls.every(isRight))
        }
        assert.isTrue(ended.every(isMasked))
      }))

    it.effect("leaves requests without a grammar bit-identical", () =>
      Effect.gen(function*() {
        const client = yield* Tinker.Tinker.use((tinker) =>
          tinker.createSamplingClient({ baseModel: TestEngine.model })
        )
        const plain = client.sample({ prompt: TestEngine.prompt(2), numSamples: 8, params: { maxTokens: 60, seed: 1 } })
        const alone = yield* plain
        const [together] = yield* Effect.all([plain, replies("qwen3_instruct", forced, ["add"])], {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(together, alone)
        assert.isTrue(alone.sequences.every(({ maskedLogprobs }) => maskedLogprobs === undefined))
      }).pipe(Effect.scoped))
  })
})
