import { AiPolicy } from "@effect-rl/ai"
import { Message, type MessagePolicy } from "@effect-rl/core"
import { Metering } from "@effect-rl/core/backend"
import { Renderers } from "@effect-rl/core/renderers"
import { TestTokenizer } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import { LanguageModel, type Response, Tool, Toolkit } from "effect/ai"

/** A policy that gives these answers in turn, and records the requests. */
const policy = (...answers: ReadonlyArray<Message.Message>) => {
  const requests: Array<MessagePolicy.Request> = []
  const self: MessagePolicy.MessagePolicy = {
    respond: (request) => Effect.sync(() => answers[requests.push(request) - 1] ?? Message.assistant("nothing more"))
  }
  return { ...self, requests }
}

const thinking = (thought: string, text: string): Message.Message => ({
  role: "assistant",
  content: [{ type: "thinking", thinking: thought }, { type: "text", text }]
})

const calling = (args: string): Message.Message => ({
  role: "assistant",
  content: "",
  toolCalls: [{ id: "call-7", function: { name: "double", arguments: args } }]
})

const kit = Toolkit.make(Tool.make("double", {
  description: "Doubles a number.",
  parameters: Schema.Struct({ n: Schema.Int }),
  success: Schema.Struct({ twice: Schema.Int })
}))
const handlers = kit.toLayer({ double: ({ n }) => Effect.succeed({ twice: 2 * n }) })

const renderer = Renderers.byName("qwen3_instruct", TestTokenizer.characters)

describe("a language model as a policy", () => {
  const answering = (usage: Response.FinishPartEncoded["usage"]) =>
    LanguageModel.make({
      generateText: () => Effect.succeed([{ type: "text", text: "9" }, { type: "finish", reason: "stop", usage }]),
      streamText: () => Stream.empty
    })

  const counted = Effect.fnUntraced(function*(usage: Response.FinishPartEncoded["usage"]) {
    const counts: Array<readonly [model: string, tokens: Metering.Tokens | undefined]> = []
    const judge = AiPolicy.fromLanguageModel(yield* answering(usage), "some-judge")
    const answer = yield* judge.respond({ messages: [Message.user("4 + 5?")], key: "k" }).pipe(
      Effect.provideService(Metering.Metering, {
        meter: (client) => client,
        count: (model, tokens) => Effect.sync(() => void counts.push([model, tokens])),
        asks: true,
        judge: (verdict) => verdict
      })
    )
    assert.strictEqual(Message.text(answer), "9")
    return counts
  })

  it.effect("counts, under its own name, the tokens that its provider reports", () =>
    Effect.gen(function*() {
      const usage = { inputTokens: { total: 12, cacheRead: 4 }, outputTokens: { total: 3 } }
      assert.deepStrictEqual(yield* counted(usage), [
        ["some-judge", { prefilled: 12, sampled: 3, trained: 0, cached: 4 }]
      ])
    }))

  it.effect("reports its token counts as unknown if its provider gives none", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* counted({ inputTokens: {}, outputTokens: {} }), [["some-judge", undefined]])
    }))

  it.effect("is not called by a plan", () =>
    Effect.gen(function*() {
      const judge = AiPolicy.fromLanguageModel(yield* answering({ inputTokens: {}, outputTokens: {} }))
      const error = yield* Effect.flip(judge.respond({ messages: [Message.user("4 + 5?")], key: "k" })).pipe(
        Effect.provideService(Metering.Metering, {
          meter: (client) => client,
          count: () => Effect.die("counted"),
          asks: false,
          judge: (verdict) => verdict
        })
      )
      assert.include(error.message, "a plan asks no language model")
    }))
})

describe("a policy as a language model", () => {
  it.effect("answers a conversation, with a separate key for each request", () =>
    Effect.gen(function*() {
      const asked = policy(thinking("capital?", "Lima"), Message.assistant("Tokyo"))
      const model = yield* AiPolicy.toLanguageModel(asked, { key: "judge" })
      const first = yield* model.generateText({
        prompt: [{ role: "system", content: "Be brief." }, { role: "user", content: "Peru?" }]
      })
      assert.deepStrictEqual([first.text, first.reasoningText, first.finishReason], ["Lima", "capital?", "stop"])
      assert.strictEqual((yield* model.generateText({ prompt: "Japan?" })).text, "Tokyo")
      assert.deepStrictEqual(asked.requests, [
        { key: "judge/0", messages: [Message.system("Be brief."), Message.user("Peru?")] },
        { key: "judge/1", messages: [Message.user("Japan?")] }
      ])
    }))

  it.effect("streams each part as one delta", () =>
    Effect.gen(function*() {
      const model = yield* AiPolicy.toLanguageModel(policy(thinking("hm", "Lima")), { key: "k" })
      const parts = yield* Stream.runCollect(model.streamText({ prompt: "Peru?" }))
      assert.deepStrictEqual(parts.map(({ type }) => type), [
        "reasoning-start",
        "reasoning-delta",
        "reasoning-end",
        "text-start",
        "text-delta",
        "text-end",
        "finish"
      ])
    }))

  it.effect("describes tools in the format of its model family, and calls them", () =>
    Effect.gen(function*() {
      const asked = policy(calling(`{"n": 4}`), Message.assistant("8"))
      const model = yield* AiPolicy.toLanguageModel(asked, { key: "k", renderer: yield* renderer })
      const called = yield* model.generateText({ prompt: "Twice 4?", toolkit: kit })
      assert.strictEqual(called.finishReason, "tool-calls")
      assert.deepStrictEqual(called.toolCalls.map(({ id, name, params }) => ({ id, name, params })), [
        { id: "call-7", name: "double", params: { n: 4 } }
      ])
      assert.deepStrictEqual(called.toolResults.map(({ result }) => result), [{ twice: 8 }])
      const [system] = asked.requests[0]?.messages ?? []
      assert.include(system === undefined ? "" : Message.text(system), `"name": "double"`)
    }).pipe(Effect.provide(handlers)))

  it.effect("reads the results of tools", () =>
    Effect.gen(function*() {
      const asked = policy(Message.assistant("8"))
      const model = yield* AiPolicy.toLanguageModel(asked, { key: "k" })
      yield* model.generateText({
        prompt: [
          { role: "user", content: "Twice 4?" },
          { role: "assistant", content: [{ type: "tool-call", id: "c", name: "double", params: { n: 4 } }] },
          {
            role: "tool",
            content: [{ type: "tool-result", id: "c", name: "double", isFailure: false, result: { twice: 8 } }]
          }
        ]
      })
      assert.deepStrictEqual(asked.requests[0]?.messages, [
        Message.user("Twice 4?"),
        {
          role: "assistant",
          content: [],
          toolCalls: [{ id: "c", function: { name: "double", arguments: `{"n": 4}` } }]
        },
        { role: "tool", name: "double", toolCallId: "c", content: `{"twice": 8}` }
      ])
    }))

  const reason = <A>(answer: Effect.Effect<A, { readonly reason: { readonly _tag: string } }>) =>
    Effect.map(Effect.flip(answer), ({ reason }) => reason._tag)

  it.effect("refuses requests that no policy can fulfill", () =>
    Effect.gen(function*() {
      const model = yield* AiPolicy.toLanguageModel(policy(), { key: "k" })
      const file = { type: "file", mediaType: "image/png", data: "AAAA" } as const
      assert.strictEqual(
        yield* reason(model.generateText({ prompt: [{ role: "user", content: [file] }] })),
        "InvalidRequestError"
      )
      assert.strictEqual(
        yield* reason(model.generateObject({ prompt: "Peru?", schema: Schema.Struct({ capital: Schema.String }) })),
        "InvalidRequestError"
      )
      const withTools = model.generateText({ prompt: "Twice 4?", toolkit: kit }).pipe(Effect.provide(handlers))
      assert.strictEqual(yield* reason(withTools), "InvalidRequestError")
    }))

  it.effect("fails with the policy's error, and fails on a response that cannot be parsed", () =>
    Effect.gen(function*() {
      const failing = yield* AiPolicy.toLanguageModel({ respond: () => Effect.fail(new Error("away")) }, { key: "k" })
      const error = yield* Effect.flip(failing.generateText({ prompt: "Peru?" }))
      assert.include(error.message, "away")
      const unread: Message.Message = { ...calling("{}"), unparsedToolCalls: [{ rawText: "", error: "no json" }] }
      const garbled = yield* AiPolicy.toLanguageModel(policy(unread, calling("{")), { key: "k" })
      assert.strictEqual(yield* reason(garbled.generateText({ prompt: "Peru?" })), "InvalidOutputError")
      assert.strictEqual(yield* reason(garbled.generateText({ prompt: "Peru?" })), "InvalidOutputError")
    }))
})

describe("a language model as a policy", () => {
  it.effect("returns the answers of the policy behind it", () =>
    Effect.gen(function*() {
      const asked = policy(thinking("capital?", "Lima"), Message.assistant("Tokyo"))
      const self = AiPolicy.fromLanguageModel(yield* AiPolicy.toLanguageModel(asked, { key: "k" }))
      const messages = [Message.system("Be brief."), Message.user("Peru?")]
      assert.deepStrictEqual(yield* self.respond({ key: "any", messages }), thinking("capital?", "Lima"))
      assert.deepStrictEqual(yield* self.respond({ key: "any", messages }), Message.assistant("Tokyo"))
      assert.deepStrictEqual(asked.requests[0]?.messages, messages)
    }))

  it.effect("sees tool calls and results, with ids from their positions if they have none", () =>
    Effect.gen(function*() {
      const asked = policy(Message.assistant("8"))
      const self = AiPolicy.fromLanguageModel(yield* AiPolicy.toLanguageModel(asked, { key: "k" }))
      const call = (n: number) => ({ function: { name: "double", arguments: `{"n": ${n}}` } })
      yield* self.respond({
        key: "any",
        messages: [
          Message.user("Twice 4 and 5?"),
          { role: "assistant", content: "", toolCalls: [call(4), call(5)] },
          { role: "tool", name: "double", content: "8" },
          { role: "tool", name: "double", content: "10" }
        ]
      })
      const [, assistant, ...answers] = asked.requests[0]?.messages ?? []
      const ids = assistant?.toolCalls?.map(({ id }) => id)
      assert.strictEqual(new Set(ids).size, 2)
      assert.deepStrictEqual(answers.map(({ toolCallId }) => toolCallId), ids)
      assert.deepStrictEqual(answers.map(Message.text), ["8", "10"])
    }))

  it.effect("can be provided as a LanguageModel service", () =>
    Effect.gen(function*() {
      const model = AiPolicy.toLanguageModel(policy(Message.assistant("Lima")), { key: "k" })
      const { text } = yield* LanguageModel.generateText({ prompt: "Peru?" }).pipe(
        Effect.provideServiceEffect(LanguageModel.LanguageModel, model)
      )
      assert.strictEqual(text, "Lima")
    }))
})
