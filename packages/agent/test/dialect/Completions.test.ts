/** Plain-text continuations and scores, as evaluation harnesses request them. */
import type { Script } from "@effect-rl/core/testing"
import { TestTokenizer } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Service from "./Service.ts"

const { characters } = TestTokenizer
const path = "/completions"

/** Continues each prompt with its last character, and scores prompt token t with log-probability −t. */
const echoing: Script.SampleScript = ({ numSamples = 1, params, prompt, promptLogprobs, topkPromptLogprobs = 0 }) => {
  const text = Service.shown(prompt)
  const tokens = characters.encode(text.slice(-1).repeat(params.maxTokens))
  const sequence = { tokens, logprobs: new Float32Array(tokens.length).fill(-0.5), stopReason: "length" } as const
  const own = characters.encode(text)
  const scores = Float32Array.from(own, (_, index) => index === 0 ? NaN : -index)
  const top = Array.from(own, (token, index) => index === 0 ? [] : [{ token, logprob: -index }])
  return {
    sequences: Array.from({ length: numSamples }, () => sequence),
    ...(promptLogprobs === true && { promptLogprobs: scores }),
    ...(topkPromptLogprobs > 0 && { topkPromptLogprobs: top })
  }
}

const service = Service.make({ sample: echoing })

const textsOf = ({ choices }: Service.Body) => choices.map(({ index, text }: Service.Body) => [index, text])

describe("completions", () => {
  it.effect("take one prompt or several, each as text or token ids", () =>
    Effect.gen(function*() {
      const { post } = yield* service
      const [a, b] = [[...characters.encode("a")], [...characters.encode("bc")]]
      const both = [[0, "aa"], [1, "cc"]]
      for (
        const [prompt, expected] of [
          ["a", [[0, "aa"]]],
          [["a"], [[0, "aa"]]],
          [["a", "bc"], both],
          [a, [[0, "aa"]]],
          [[a, b], both]
        ]
      ) {
        const { body } = yield* post(path, { prompt, max_tokens: 2 })
        assert.deepStrictEqual(textsOf(body), expected)
      }
    }))

  it.effect("number the choices of several prompts in prompt order, and sum the token usage", () =>
    Effect.gen(function*() {
      const { post } = yield* service
      const asked = { prompt: ["a", "bc"], n: 2, max_tokens: 3 }
      const { body } = yield* post(path, asked)
      assert.deepStrictEqual(textsOf(body), [[0, "aaa"], [1, "aaa"], [2, "ccc"], [3, "ccc"]])
      assert.deepStrictEqual(body["usage"], { prompt_tokens: 3, completion_tokens: 12, total_tokens: 15 })
      const events = Service.events(
        yield* post(path, { ...asked, stream: true, stream_options: { include_usage: true } })
      )
      const texts = ["", "", "", ""]
      for (const { index, text } of events.flatMap(({ choices }) => choices)) texts[index] += text
      assert.deepStrictEqual(texts, ["aaa", "aaa", "ccc", "ccc"])
      assert.deepStrictEqual(events.at(-1)?.["usage"], body["usage"])
    }))

  it.effect("echo the prompt with the log-probability of each token after the first", () =>
    Effect.gen(function*() {
      const { post } = yield* service
      const { body } = yield* post(path, { prompt: "abc", echo: true, logprobs: 1, max_tokens: 2 })
      const [choice] = body["choices"]
      assert.strictEqual(choice.text, "abccc")
      assert.deepStrictEqual(choice.logprobs, {
        tokens: ["a", "b", "c", "c", "c"],
        token_logprobs: [null, -1, -2, -0.5, -0.5],
        top_logprobs: [null, { b: -1 }, { c: -2 }, {}, {}],
        text_offset: [0, 1, 2, 3, 4]
      })
    }))

  it.effect("score a prompt without sampling if max_tokens is 0, whole and streamed", () =>
    Effect.gen(function*() {
      const { post } = yield* service
      const asked = { prompt: ["ab", "c"], echo: true, logprobs: 0, max_tokens: 0 }
      const { body } = yield* post(path, asked)
      assert.deepStrictEqual(textsOf(body), [[0, "ab"], [1, "c"]])
      assert.deepStrictEqual(body["choices"].map(({ logprobs }: Service.Body) => logprobs.token_logprobs), [
        [null, -1],
        [null]
      ])
      assert.strictEqual(body["usage"].completion_tokens, 0)
      const chunks = Service.events(yield* post(path, { ...asked, stream: true })).flatMap(({ choices }) => choices)
      assert.deepStrictEqual(chunks, body["choices"])
    }))

  it.effect("require at least one token to sample unless the prompt is echoed", () =>
    Effect.gen(function*() {
      const { post } = yield* service
      const { body, status } = yield* post(path, { prompt: "a", max_tokens: 0 })
      assert.strictEqual(status, 422)
      assert.deepInclude(body["error"], {
        message: "max_tokens is 0, expected at least 1 without echo",
        param: "max_tokens"
      })
    }))
})

describe("token ids", () => {
  it.effect("are included in whole answers of every endpoint on request", () =>
    Effect.gen(function*() {
      const { post } = yield* Service.make({ sample: Service.saying("Hello<|im_end|>") })
      const reply = [...characters.encode("Hello<|im_end|>")]
      const asked = { return_token_ids: true }
      const chat = (yield* post("/chat/completions", { ...Service.chat.conversation, ...asked })).body
      assert.deepStrictEqual(chat["choices"][0].token_ids, reply)
      assert.lengthOf(chat["prompt_token_ids"], chat["usage"].prompt_tokens)
      assert.include(characters.decode(chat["prompt_token_ids"]), "user\nHi<|im_end|>")
      for (const dialect of [Service.responses, Service.messages]) {
        const { body } = yield* post(dialect.path, { ...dialect.conversation, ...asked })
        assert.deepStrictEqual(body["token_ids"], reply)
        assert.deepStrictEqual(body["prompt_token_ids"], chat["prompt_token_ids"])
      }
      const completion = (yield* post(path, { prompt: "abc", ...asked })).body["choices"][0]
      assert.deepStrictEqual(completion.prompt_token_ids, [...characters.encode("abc")])
      assert.deepStrictEqual(completion.token_ids, reply)
      assert.notProperty((yield* post(path, { prompt: "abc" })).body["choices"][0], "token_ids")
    }))

  it.effect("are included in streams of every endpoint on request", () =>
    Effect.gen(function*() {
      const { post } = yield* Service.make({ sample: Service.saying("Hello<|im_end|>") })
      const asked = { return_token_ids: true, stream: true }
      const whole = (yield* post("/chat/completions", { ...Service.chat.conversation, return_token_ids: true })).body
      const chat = Service.events(yield* post("/chat/completions", { ...Service.chat.conversation, ...asked }))
      assert.deepStrictEqual(chat[0]?.["prompt_token_ids"], whole["prompt_token_ids"])
      const ids = chat.flatMap(({ choices }) => choices[0]?.token_ids ?? [])
      assert.deepStrictEqual(ids, [...characters.encode("Hello<|im_end|>")])
      const two = Service.events(yield* post(path, { prompt: ["ab", "c"], ...asked }))
      const ofChoice = (index: number, field: string) =>
        two.flatMap(({ choices }) => choices[0]?.index === index ? choices[0][field] ?? [] : [])
      for (const [index, prompt] of ["ab", "c"].entries()) {
        assert.deepStrictEqual(ofChoice(index, "prompt_token_ids"), [...characters.encode(prompt)])
        assert.deepStrictEqual(ofChoice(index, "token_ids"), ids)
      }
      for (
        const [dialect, last] of [[Service.responses, "response.completed"], [
          Service.messages,
          "message_delta"
        ]] as const
      ) {
        const events = Service.events(yield* post(dialect.path, { ...dialect.conversation, ...asked }))
        const event = events.find(({ type }) => type === last)
        const found = event?.["response"] ?? event
        assert.deepStrictEqual(found?.["token_ids"], ids)
        assert.deepStrictEqual(found?.["prompt_token_ids"], whole["prompt_token_ids"])
      }
      const without = (yield* post(path, { prompt: "ab", stream: true })).text
      assert.notInclude(without, "token_ids")
    }))
})
