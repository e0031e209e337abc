import { AiSdkPolicy } from "@effect-rl/ai"
import { ChatModel, Message, MessagePolicy, Tinker } from "@effect-rl/core"
import { Metering } from "@effect-rl/core/backend"
import { Renderers } from "@effect-rl/core/renderers"
import { Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { generateText, Output, streamText, tool, ToolLoopAgent } from "ai"
import { MockLanguageModelV4 } from "ai/test"
import { Effect, Layer, Stream } from "effect"
import * as Zod from "zod"

globalThis.AI_SDK_LOG_WARNINGS = false

const answersNine = Layer.merge(
  ScriptedTinker.layer({
    sample: () => {
      const tokens = TestTokenizer.characters.encode("9<|im_end|>")
      return { sequences: [{ tokens, logprobs: new Float32Array(tokens.length).fill(-1), stopReason: "stop" }] }
    }
  }),
  TestTokenizer.layer(TestTokenizer.characters)
)

/** A policy that gives these answers in turn, and records the requests. */
const policy = (...answers: ReadonlyArray<Message.Message>) => {
  const requests: Array<MessagePolicy.Request> = []
  const self: MessagePolicy.MessagePolicy = {
    respond: (request) => Effect.sync(() => answers[requests.push(request) - 1] ?? Message.assistant("nothing more"))
  }
  return { ...self, requests }
}

const calling = (args: string): Message.Message => ({
  role: "assistant",
  content: [{ type: "thinking", thinking: "twice" }, { type: "text", text: "" }],
  toolCalls: [{ id: "call-7", function: { name: "double", arguments: args } }]
})

const double = tool({
  description: "Doubles a number.",
  inputSchema: Zod.object({ n: Zod.number() }),
  execute: ({ n }) => ({ twice: 2 * n })
})

/** A model whose backend has the given sampling capabilities. */
const chatModel = (sampling: ReadonlyArray<string> = []) =>
  Effect.map(Renderers.byName("qwen3_instruct", TestTokenizer.characters), (renderer) => ({
    name: "scripted",
    renderer,
    tokenizer: TestTokenizer.characters,
    capabilities: { sampling }
  }))

const languageModel = Effect.fnUntraced(function*(
  self: MessagePolicy.MessagePolicy,
  sampling?: ReadonlyArray<string>
) {
  const model = yield* chatModel(sampling)
  return yield* AiSdkPolicy.toLanguageModel(self, { key: "app", model })
})

const question = [{ role: "user" as const, content: [{ type: "text" as const, text: "?" }] }]

const tools = [{ type: "function" as const, name: "double", inputSchema: {} }]

describe("a policy as an AI SDK language model", () => {
  it.effect("answers, and warns about options that the policy sets itself", () =>
    Effect.gen(function*() {
      const self = policy(Message.assistant("9"))
      const model = yield* languageModel(self)
      const { finishReason, text, warnings } = yield* Effect.promise(() =>
        generateText({ model, instructions: "Be brief.", prompt: "4 + 5?", temperature: 0 })
      )
      assert.deepStrictEqual([text, finishReason], ["9", "stop"])
      assert.deepStrictEqual(warnings, [
        { type: "unsupported", feature: "temperature", details: "the policy decides how it samples" }
      ])
      assert.deepStrictEqual(self.requests, [
        { key: "app/0", messages: [Message.system("Be brief."), Message.user("4 + 5?")] }
      ])
    }))

  it.effect("streams its answer", () =>
    Effect.gen(function*() {
      const model = yield* languageModel(policy(Message.assistant("9")))
      const parts = Stream.fromAsyncIterable(streamText({ model, prompt: "4 + 5?" }).textStream, String)
      assert.deepStrictEqual(yield* Stream.runCollect(parts), ["9"])
    }))

  it.effect("reports the tokens counted for an answer, which the caller's metering counts too", () =>
    Effect.gen(function*() {
      const model = yield* ChatModel.resolve(Script.defaultModel, { renderer: "qwen3_instruct" })
      const client = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ baseModel: model.name }))
      const sampled = MessagePolicy.fromSamplingClient(client, { model, maxTokens: 20, seed: 0 })
      const { metering, used } = Metering.counter()
      const languageModel = yield* AiSdkPolicy.toLanguageModel(sampled, { key: "app", model }).pipe(
        Effect.provideService(Metering.Metering, metering)
      )
      const generated = yield* Effect.promise(() => generateText({ model: languageModel, prompt: "4 + 5?" }))
      const streamed = streamText({ model: languageModel, prompt: "4 + 5?" })
      yield* Effect.promise(() => streamed.consumeStream())
      const prompt = yield* model.renderer.generationPrompt([Message.user("4 + 5?")])
      const tokens = TestTokenizer.characters.encode("9<|im_end|>").length
      for (const { inputTokens, outputTokens } of [generated.usage, yield* Effect.promise(() => streamed.usage)]) {
        assert.deepStrictEqual({ inputTokens, outputTokens }, { inputTokens: prompt.length, outputTokens: tokens })
      }
      const [[, counted] = []] = used()
      assert.deepInclude(counted, { prefilled: 2 * prompt.length, sampled: 2 * tokens })
      const unknown = yield* AiSdkPolicy.toLanguageModel(policy(Message.assistant("9")), { key: "app" })
      const { usage } = yield* Effect.promise(() => generateText({ model: unknown, prompt: "4 + 5?" }))
      assert.isUndefined(usage.inputTokens)
    }).pipe(Effect.scoped, Effect.provide(answersNine)))

  it.effect("calls the tools of a ToolLoopAgent", () =>
    Effect.gen(function*() {
      const self = policy(calling(`{"n": 4}`), Message.assistant("8"))
      const agent = new ToolLoopAgent({ model: yield* languageModel(self), tools: { double } })
      const { text } = yield* Effect.promise(() => agent.generate({ prompt: "Double 4." }))
      assert.strictEqual(text, "8")
      const [first, second] = self.requests.map(({ messages }) => messages)
      assert.include(Message.text(first?.[0] ?? Message.user("")), `"name": "double"`)
      assert.deepStrictEqual(second?.slice(2), [
        {
          role: "assistant",
          content: [{ type: "thinking", thinking: "twice" }],
          toolCalls: [{ id: "call-7", function: { name: "double", arguments: `{"n": 4}` } }]
        },
        { role: "tool", name: "double", toolCallId: "call-7", content: `{"twice": 8}` }
      ])
    }))

  it.effect("asks for a grammar if the request has a schema, or forced or strict tool calls", () =>
    Effect.gen(function*() {
      const self = policy(
        Message.assistant(`{"n": 4}`),
        calling("{}"),
        calling("{}"),
        calling("{}"),
        Message.assistant("8")
      )
      const model = yield* languageModel(self, ["grammar"])
      const schema = Zod.object({ n: Zod.number() })
      const { output } = yield* Effect.promise(() =>
        generateText({ model, prompt: "?", output: Output.object({ schema }) })
      )
      assert.deepStrictEqual(output, { n: 4 })
      const ask = (more: object) =>
        Effect.promise(() => Promise.resolve(model.doGenerate({ prompt: question, ...more })))
      yield* ask({ tools, toolChoice: { type: "required" } })
      yield* ask({ tools, toolChoice: { type: "tool", toolName: "double" } })
      yield* ask({ tools: [{ ...tools[0], strict: true }] })
      yield* ask({ tools })
      const grammars = self.requests.map(({ grammar }) => grammar)
      const [held, required, named, strict, free] = grammars
      assert.deepInclude(held?.jsonSchema, { type: "object", required: ["n"] })
      assert.deepStrictEqual(
        [required, named, strict].map((grammar) => [grammar?.calls?.hasText, grammar?.calls?.between]),
        [[false, undefined], [false, undefined], [true, "\n"]]
      )
      assert.isUndefined(free)
    }))

  it.effect("refuses files, and schemas that no grammar can express", () =>
    Effect.gen(function*() {
      const refusal = (more: object, sampling: ReadonlyArray<string> = ["grammar"]) =>
        Effect.flatMap(languageModel(policy(), sampling), (model) =>
          Effect.promise(() =>
            Promise.resolve(model.doGenerate({ prompt: question, ...more })).then(() =>
              "answered", String)
          ))
      const json = { responseFormat: { type: "json" } }
      const forced = { tools, toolChoice: { type: "required" } }
      const file = { type: "file", mediaType: "image/png", data: { type: "text", text: "" } }
      const schema = { type: "string", minLength: 2 }
      assert.include(
        yield* refusal(json, []),
        "AI_UnsupportedFunctionalityError: responseFormat: the backend has no grammars"
      )
      assert.include(
        yield* refusal(forced, []),
        "AI_UnsupportedFunctionalityError: toolChoice: the backend has no grammars"
      )
      assert.include(yield* refusal({ responseFormat: { type: "json", schema } }), "minLength is 2")
      assert.include(yield* refusal({ ...json, tools }), "leaves no way to call a tool")
      assert.include(yield* refusal({ tools, toolChoice: { type: "tool", toolName: "halve" } }), "names no tool")
      assert.include(yield* refusal({ prompt: [{ role: "user", content: [file] }] }), `a part of type "file"`)
      assert.strictEqual(yield* refusal(json), "answered")
    }))

  it.effect("warns about strict tools that no grammar can express, and refuses tools without a model", () =>
    Effect.gen(function*() {
      const strict = tools.map((tool) => ({ ...tool, strict: true }))
      const held = yield* languageModel(policy())
      const { warnings } = yield* Effect.promise(() =>
        Promise.resolve(held.doGenerate({ prompt: question, tools: strict }))
      )
      assert.deepStrictEqual(warnings, [
        { type: "unsupported", feature: "strict", details: "no grammar can constrain the calls of the policy" }
      ])
      const bare = yield* AiSdkPolicy.toLanguageModel(policy(), { key: "app" })
      for (const more of [{ tools }, { responseFormat: { type: "json" as const } }]) {
        const answer = Promise.resolve(bare.doGenerate({ prompt: question, ...more })).then(() => "answered", String)
        assert.match(yield* Effect.promise(() => answer), /UnsupportedFunctionality.*give (a|the) model/)
      }
    }))
})

describe("an AI SDK language model as a policy", () => {
  const answering = (total: number | undefined) =>
    new MockLanguageModelV4({
      modelId: "some-judge",
      doGenerate: {
        content: [{ type: "reasoning", text: "hm" }, { type: "text", text: "9" }],
        finishReason: { unified: "stop", raw: undefined },
        usage: {
          inputTokens: { total, noCache: total, cacheRead: 2, cacheWrite: 0 },
          outputTokens: { total: 3, text: 3, reasoning: 0 }
        },
        warnings: []
      }
    })

  const counted = Effect.fnUntraced(function*(model: MockLanguageModelV4, asks = true) {
    const counts: Array<readonly [model: string, tokens: Metering.Tokens | undefined]> = []
    const messages = [
      Message.user("4 + 5?"),
      calling(`{"n": 4}`),
      { role: "tool", toolCallId: "call-7", content: "8" },
      Message.user("And now?")
    ]
    const answer = yield* AiSdkPolicy.fromLanguageModel(model).respond({ messages, key: "k" }).pipe(
      Effect.provideService(Metering.Metering, {
        meter: (client) => client,
        count: (model, tokens) => Effect.sync(() => void counts.push([model, tokens])),
        asks,
        judge: (verdict) => verdict
      })
    )
    return { answer, counts }
  })

  it.effect("receives the conversation, and has its tokens counted", () =>
    Effect.gen(function*() {
      const model = answering(7)
      const { answer, counts } = yield* counted(model)
      assert.deepStrictEqual(answer, {
        role: "assistant",
        content: [{ type: "thinking", thinking: "hm" }, { type: "text", text: "9" }]
      })
      assert.deepStrictEqual(counts, [["some-judge", { prefilled: 7, sampled: 3, trained: 0, cached: 2 }]])
      assert.deepStrictEqual(model.doGenerateCalls[0]?.prompt.slice(1), [
        {
          role: "assistant",
          content: [
            { type: "reasoning", text: "twice" },
            { type: "text", text: "" },
            { type: "tool-call", toolCallId: "call-7", toolName: "double", input: { n: 4 } }
          ]
        },
        {
          role: "tool",
          content: [
            {
              type: "tool-result",
              toolCallId: "call-7",
              toolName: "double",
              output: { type: "text", value: "8" }
            }
          ]
        },
        { role: "user", content: [{ type: "text", text: "And now?" }] }
      ])
    }))

  it.effect("reports its token counts as unknown if its provider gives none", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* counted(answering(undefined))).counts, [["some-judge", undefined]])
    }))

  it.effect("fails with the provider's error, and is not called by a plan", () =>
    Effect.gen(function*() {
      const broken = new MockLanguageModelV4({
        modelId: "some-judge",
        doGenerate: () => Promise.reject(new Error("no credit"))
      })
      const errors = yield* Effect.forEach([counted(broken), counted(answering(1), false)], Effect.flip)
      assert.deepStrictEqual(errors.map(({ message }) => message), [
        "the language model some-judge does not answer: no credit",
        "the language model some-judge does not answer: a plan asks no language model"
      ])
    }))
})
