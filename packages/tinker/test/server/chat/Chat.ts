/** A server whose model answers with a given text, and chat requests for it. */
import type { Sampling } from "@effect-rl/core/backend"
import { type Script, TestTokenizer } from "@effect-rl/core/testing"
import { Effect } from "effect"
import { HttpClientRequest } from "effect/http"
import * as Api from "../Api.ts"

export const model = "Qwen/Qwen3-4B-Instruct-2507"
const { characters } = TestTokenizer

/** The text of a prompt. */
export const shown = ({ prompt }: Sampling.SampleRequest) =>
  characters.decode(prompt.chunks.flatMap((chunk) => chunk._tag === "EncodedText" ? [...chunk.tokens] : []))

/** A script that answers every conversation with this text, in pieces of the requested length. */
export const saying = (text: string) => {
  const answer = characters.encode(text)
  return (request: Sampling.SampleRequest): Sampling.SampleResponse => {
    const { numSamples = 1, params } = request
    const asked = shown(request)
    const said = asked.slice(asked.lastIndexOf("<|im_start|>assistant\n") + "<|im_start|>assistant\n".length)
    const from = characters.encode(said).length
    const tokens = answer.slice(from, from + params.maxTokens)
    const stopReason = from + tokens.length === answer.length ? "stop" : "length"
    const sequence = { tokens, logprobs: new Float32Array(tokens.length).fill(-0.5), stopReason } as const
    return { sequences: Array.from({ length: numSamples }, () => sequence) }
  }
}

export const answering = (text: string): Script.Script => ({
  models: { [model]: { contextLength: 4096 } },
  sample: saying(text)
})

type Headers = Readonly<Record<string, string>>

export const requestText = (path: string, text: string, headers: Headers = {}) =>
  HttpClientRequest.bodyText(
    HttpClientRequest.setHeaders(HttpClientRequest.make("POST")(path), headers),
    text,
    "application/json"
  )

export const request = (path: string, body: object, headers?: Headers) =>
  requestText(path, JSON.stringify(body), headers)

export const events = (path: string, body: object, headers?: Headers) =>
  Effect.gen(function*() {
    const response = yield* Api.execute(request(path, body, headers))
    const text = yield* response.text
    return text.split("\n\n").filter((line) => line !== "").map((line) => line.replace(/^(event: .*\n)?data: /, ""))
  })
