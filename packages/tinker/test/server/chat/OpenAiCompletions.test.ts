import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Api from "../Api.ts"
import * as Chat from "./Chat.ts"

const body = (more: object) => ({ model: Chat.model, prompt: "<|im_start|>assistant\n", ...more })

const complete = (more: object) =>
  Effect.map(Api.send(Chat.request("/oai/api/v1/completions", body(more))), ({ body }) => {
    const [choice = {}] = body["choices"] as ReadonlyArray<Api.Body>
    return choice
  })

const server = (text: string) => Effect.provide(Api.server({ script: Chat.answering(text) }))

describe("completions", () => {
  it.effect("continue text", () =>
    Effect.gen(function*() {
      const choice = yield* complete({ max_tokens: 4, logprobs: 0 })
      assert.deepInclude(choice, { text: "Hell", finish_reason: "length" })
      assert.deepInclude(choice["logprobs"], { tokens: ["H", "e", "l", "l"], text_offset: [0, 1, 2, 3] })
    }).pipe(server("Hello<|endoftext|>")))

  it.effect("end at the model's end-of-text token, and at a client's stop text", () =>
    Effect.gen(function*() {
      assert.deepInclude(yield* complete({}), { text: "Hello. Who is there?", finish_reason: "stop" })
      assert.deepInclude(yield* complete({ stop: ["?", ". W"] }), { text: "Hello", finish_reason: "stop" })
    }).pipe(server("Hello. Who is there?<|endoftext|>")))

  it.effect("stream each choice, and the total usage", () =>
    Effect.gen(function*() {
      const said = "A longer answer, which comes in several pieces."
      const options = { stream: true, n: 2, logprobs: 0, stream_options: { include_usage: true } }
      const all = yield* Chat.events("/oai/api/v1/completions", body(options))
      assert.strictEqual(all.at(-1), "[DONE]")
      const chunks = all.slice(0, -1).map((text) => JSON.parse(text))
      for (const index of [0, 1]) {
        const choices = chunks.flatMap(({ choices }) =>
          choices.filter((choice: { readonly index: number }) => choice.index === index)
        )
        assert.strictEqual(choices.map(({ text }) => text).join(""), said)
        assert.strictEqual(choices.at(-1)?.finish_reason, "stop")
        const offsets = choices.flatMap(({ logprobs }) => logprobs?.text_offset ?? [])
        assert.deepStrictEqual(offsets, Array.from({ length: said.length + 1 }, (_, index) => index))
      }
      assert.strictEqual(chunks.at(-1)?.usage.completion_tokens, 2 * (said.length + 1))
    }).pipe(server("A longer answer, which comes in several pieces.<|endoftext|>")))
})
