/** What upstream renderers produce, case by case; where ours is better on purpose, the case is named here. */
import { Message, type ModelInput, Renderer, Renderers, type Tokenizer } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import * as CharTokenizer from "./CharTokenizer.ts"
import * as Vectors from "./Vectors.ts"
import { describeWithVocabularies } from "./VocabularyTokenizer.ts"

/** Cases where ours differs on purpose, by the test that shows what ours does instead. */
const better = new Set([
  // Qwen35.test.ts: a response that already opens its thinking does not get a second opening
  "parse/qwen3_5/qwen3/10",
  "parse/qwen3_5/qwen3/21",
  "parse/qwen3_5_disable_thinking/qwen3/8",
  "parse/qwen3_5_disable_thinking/qwen3/21",
  // RoleColon.test.ts: nothing stands in for the next speaker after a user's last message
  "supervised/role_colon/llama3/6",
  // Qwen3.test.ts: a stray closing tag makes one thinking block, not two
  "supervised/qwen3_disable_thinking/qwen3/5"
])

const kept = <A extends { readonly id: string }>(vectors: ReadonlyArray<A>) =>
  vectors.filter((vector) => !better.has(vector.id))

const characters = { qwen3: CharTokenizer.qwen, llama3: CharTokenizer.llama }

const chunksOf = (input: ModelInput.ModelInput) =>
  input.chunks.map((chunk) => chunk._tag === "EncodedText" ? [...chunk.tokens] : [])

const generate = Effect.fnUntraced(function*(vector: Vectors.Prompt, tokenizer: Tokenizer.Tokenizer) {
  const { messages, prefill, renderer: name, role } = vector.input
  const renderer = yield* Renderers.byName(name, tokenizer)
  const input = yield* renderer.generationPrompt(messages.map(Vectors.message), {
    ...(role === undefined ? {} : { role }),
    ...(prefill === undefined ? {} : { prefill })
  })
  return chunksOf(input)
})

describe("generation prompts as text", () => {
  it.effect.each(Vectors.prompts)("$id", (vector) =>
    Effect.gen(function*() {
      const tokenizer = characters[vector.input.tokenizer]
      if ("error" in vector.expect) return yield* Effect.flip(generate(vector, tokenizer))
      const chunks = yield* generate(vector, tokenizer)
      assert.deepStrictEqual(chunks.map((chunk) => tokenizer.decode(chunk)), vector.expect.chunks)
    }))
})

describeWithVocabularies("generation prompts as tokens", (tokenizer) => {
  it.effect.each(Vectors.prompts)("$id", (vector) =>
    Effect.gen(function*() {
      if ("error" in vector.expect) return yield* Effect.flip(generate(vector, tokenizer(vector.input.tokenizer)))
      const chunks = yield* generate(vector, tokenizer(vector.input.tokenizer))
      assert.deepStrictEqual(chunks.flat(), vector.expect.ids)
      assert.deepStrictEqual(chunks.map((chunk) => chunk.length), vector.expect.chunkLengths)
    }))
})

const parse = Effect.fnUntraced(function*({ input }: Vectors.Parse, tokenizer: Tokenizer.Tokenizer) {
  const renderer = yield* Renderers.byName(input.renderer, tokenizer)
  return yield* renderer.parse(input.text === null ? Int32Array.from(input.ids ?? []) : tokenizer.encode(input.text))
})

const head = (error: string) => error.replace(/:[^]*/, "")

const checkParse = Effect.fnUntraced(function*(vector: Vectors.Parse, tokenizer: Tokenizer.Tokenizer) {
  if ("error" in vector.expect) return yield* Effect.flip(parse(vector, tokenizer))
  const { failure, message, termination } = vector.expect
  const parsed = yield* parse(vector, tokenizer)
  assert.strictEqual(parsed.termination, termination)
  assert.strictEqual(Renderer.failure(parsed)?.kind ?? null, failure)
  assert.deepStrictEqual(parsed.message.content, message.content)
  assert.deepStrictEqual(
    parsed.message.toolCalls?.map((call) => ({ id: call.id ?? null, ...call.function })),
    message.tool_calls
  )
  assert.deepStrictEqual(
    parsed.message.unparsedToolCalls?.map((call) => ({ raw_text: call.rawText, error_head: head(call.error) })),
    message.unparsed_tool_calls
  )
})

describe("parsing text", () => {
  it.effect.each(kept(Vectors.parses).filter(({ input }) => input.text !== null))(
    "$id",
    (vector) => checkParse(vector, characters[vector.input.tokenizer])
  )
})

describeWithVocabularies("parsing tokens", (tokenizer) => {
  it.effect.each(kept(Vectors.parses))("$id", (vector) => checkParse(vector, tokenizer(vector.input.tokenizer)))
})

const examine = Effect.fnUntraced(function*(
  { input }: Vectors.Supervised,
  mode: Renderer.TrainOnWhat,
  tokenizer: Tokenizer.Tokenizer
) {
  const renderer = yield* Renderers.byName(input.renderer, tokenizer)
  const messages = input.messages.map(Vectors.message)
  const marked = messages.map((message, index) => ({ ...message, trainable: input.trainable[index] ?? false }))
  return yield* renderer.supervisedExample(mode === "customized" ? marked : messages, mode)
})

const checkExample = (
  example: Renderer.SupervisedExample,
  expected: { readonly ids: ReadonlyArray<number>; readonly chunkLengths: ReadonlyArray<number> },
  weights: Vectors.Weights,
  name: string
) => {
  const chunks = chunksOf(example.input)
  assert.deepStrictEqual(chunks.flat(), expected.ids, name)
  assert.deepStrictEqual(
    chunks.map((chunk) => chunk.length),
    expected.chunkLengths.filter((length) => length > 0),
    name
  )
  assert.deepStrictEqual([...example.weights], Vectors.weights(weights), name)
}

describeWithVocabularies("supervised examples", (tokenizer) => {
  it.effect.each(kept(Vectors.supervised))("$id", (vector) =>
    Effect.gen(function*() {
      for (const mode of Vectors.modes) {
        const expected = vector.expect.modes[mode]
        const exit = yield* Effect.exit(examine(vector, mode, tokenizer(vector.input.tokenizer)))
        if ("error" in expected) assert.isTrue(Exit.isFailure(exit), mode)
        else checkExample(yield* exit, Vectors.tokensOf(expected, vector.expect), expected.weights, mode)
      }
    }))
})

const splitModes = ["last_assistant_message", "last_assistant_turn", "all_assistant_messages", "all_messages"] as const

const split = Effect.fnUntraced(function*(
  { input }: Vectors.Supervised,
  mode: Renderer.TrainOnWhat,
  tokenizer: Tokenizer.Tokenizer
) {
  const renderer = yield* Renderers.byName(input.renderer, tokenizer)
  return yield* Renderer.supervisedExamples(renderer, input.messages.map(Vectors.message), mode)
})

describeWithVocabularies("one example for each assistant message", (tokenizer) => {
  it.effect.each(kept(Vectors.supervised).filter(({ input }) => input.messages.length > 0))(
    "$id",
    (vector) =>
      Effect.gen(function*() {
        for (const mode of splitModes) {
          const expected = vector.expect.examples[mode]
          const exit = yield* Effect.exit(split(vector, mode, tokenizer(vector.input.tokenizer)))
          if (expected === undefined || "error" in expected) {
            assert.isTrue(Exit.isFailure(exit), mode)
            continue
          }
          const examples = yield* exit
          assert.strictEqual(examples.length, expected.length, mode)
          for (const [index, example] of examples.entries()) {
            const wanted = Vectors.exampleAt(vector, mode, index)
            checkExample(example, wanted, wanted.weights, `${mode}/${index}`)
          }
        }
      })
  )
})

describe("tools", () => {
  it.effect.each(Vectors.tools)("$id", ({ expect, id, input }) =>
    Effect.gen(function*() {
      const tokenizer = id.includes("/llama3/") ? CharTokenizer.llama : CharTokenizer.qwen
      const renderer = yield* Renderers.byName(input.renderer, tokenizer)
      if ("error" in expect) return assert.isUndefined(renderer.toolsPrefix)
      const messages = renderer.toolsPrefix?.(input.tools, input.systemPrompt) ?? []
      assert.deepStrictEqual(messages, expect.messages.map(Vectors.message))
      const prompt = yield* renderer.generationPrompt([...messages, Message.user("q")])
      assert.deepStrictEqual(chunksOf(prompt).map((chunk) => tokenizer.decode(chunk)), expect.promptChunks)
    }))
})
