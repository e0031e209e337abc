/** Teachers behind OpenAI-compatible endpoints: this repository's own, and scripted ones. */
import { Dialects, Samplers } from "@effect-rl/agent"
import { OpenAiReader } from "@effect-rl/ai"
import { ChatModel, Tinker, type TinkerError } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Redacted } from "effect"
import { HttpClient, HttpClientResponse, HttpEffect, HttpRouter, HttpServerRequest } from "effect/http"
import { TestClock } from "effect/testing"

const url = "http://teacher/v1"
const model = "teacher"

interface Asked {
  readonly path: string
  readonly authorization: string | undefined
  readonly body: ReturnType<typeof JSON.parse>
}

/** A client whose requests are answered in process. */
const answering = (answer: (asked: Asked) => Effect.Effect<Response>) => {
  const asked: Array<Asked> = []
  const client = HttpClient.make((request, { pathname }) =>
    Effect.gen(function*() {
      const text = request.body._tag === "Uint8Array" ? new TextDecoder().decode(request.body.body) : "{}"
      const { authorization } = request.headers
      const arrived = { path: pathname.replace("/v1", ""), authorization, body: JSON.parse(text) }
      asked.push(arrived)
      return HttpClientResponse.fromWeb(request, yield* answer(arrived))
    })
  )
  return { asked, layer: Layer.succeed(HttpClient.HttpClient, client) }
}

/** An endpoint that lists the model, and answers completions with a status and a body. */
const endpoint = (completion: (body: Asked["body"]) => readonly [status: number, body: object, retryAfter?: string]) =>
  answering(({ body, path }) =>
    Effect.sync(() => {
      if (path === "/models") return Response.json({ data: [{ id: model, max_model_len: 16 }] })
      const [status, answer, retryAfter] = completion(body)
      return Response.json(answer, { status, headers: retryAfter === undefined ? {} : { "retry-after": retryAfter } })
    })
  )

/** A completion in which the prompt's token t has log-probability −t, as vLLM returns it. */
const vllm = () =>
  endpoint(({ prompt, prompt_logprobs: topk }) => [200, {
    choices: [{
      text: "!",
      logprobs: null,
      prompt_logprobs: prompt.map((token: number, at: number) =>
        at === 0 ? null : {
          [token]: { logprob: -at, rank: 9, decoded_token: "x" },
          ...(topk > 0 && { 7: { logprob: -0.5, rank: 1 }, 8: { logprob: -0.75, rank: 2 } })
        }
      )
    }]
  }])

const prompt = ModelInput.fromTokens([5, 6, 9])

const connect = (options: Partial<OpenAiReader.Options> = {}) => OpenAiReader.make({ url, model, ...options })

const errorOf = <A, R>(effect: Effect.Effect<A, TinkerError.TinkerError, R>) =>
  Effect.map(Effect.flip(effect), ({ message, reason }) => [reason._tag, message])

describe("OpenAiReader.make", () => {
  it.effect("reads prompt_logprobs, and the likeliest tokens of each position", () => {
    const { asked, layer } = vllm()
    return Effect.gen(function*() {
      const teacher = yield* connect({ apiKey: Redacted.make("secret") })
      assert.deepInclude(teacher.capabilities, { contextLength: 15, promptLogprobs: true, topkPromptLogprobs: 20 })
      assert.deepStrictEqual([...yield* teacher.computeLogprobs(prompt)], [NaN, -1, -2])
      const { topkPromptLogprobs } = yield* teacher.sample({ prompt, params: { maxTokens: 1 }, topkPromptLogprobs: 2 })
      const likely = [{ token: 7, logprob: -0.5 }, { token: 8, logprob: -0.75 }]
      assert.deepStrictEqual(topkPromptLogprobs, [[], likely, likely])
      assert.deepStrictEqual(asked.at(-1)?.body, { model, prompt: [5, 6, 9], max_tokens: 1, prompt_logprobs: 2 })
      assert.isTrue(asked.every(({ authorization }) => authorization === "Bearer secret"))
    }).pipe(Effect.provide(layer))
  })

  it.effect("reads an echoed prompt if the endpoint has no prompt_logprobs", () => {
    const server = endpoint(({ echo, prompt }) => [200, {
      choices: [{ logprobs: echo === true ? { token_logprobs: [null, ...prompt.map(() => -0.25)] } : null }]
    }])
    return Effect.gen(function*() {
      const teacher = yield* connect()
      assert.strictEqual(teacher.capabilities?.topkPromptLogprobs, 0)
      assert.deepStrictEqual([...yield* teacher.computeLogprobs(prompt)], [NaN, -0.25, -0.25])
      const topk = teacher.sample({ prompt, params: { maxTokens: 1 }, topkPromptLogprobs: 2 })
      assert.deepStrictEqual(yield* errorOf(topk), [
        "Unsupported",
        "sample: topkPromptLogprobs is not supported: teacher returns at most 0, expected 2"
      ])
    }).pipe(Effect.provide(server.layer))
  })

  it.effect("fails as Unsupported if the endpoint returns no log-probabilities", () => {
    const ignoring = endpoint(() => [200, { choices: [{ text: "!", logprobs: null }] }])
    const refusing = endpoint(() => [400, { error: { message: "unknown field" } }])
    return Effect.gen(function*() {
      for (const { layer } of [ignoring, refusing]) {
        const [tag, message] = yield* errorOf(Effect.provide(connect(), layer))
        assert.strictEqual(tag, "Unsupported")
        assert.include(message, `promptLogprobs is not supported: ${url} returns none for teacher`)
      }
    })
  })

  it.effect("fails as Unsupported if a single answer lacks a log-probability", () => {
    const server = endpoint(({ prompt }) => [200, {
      choices: [{ prompt_logprobs: prompt.map((token: number) => token === 9 ? null : { [token]: { logprob: -1 } }) }]
    }])
    return Effect.gen(function*() {
      const teacher = yield* connect()
      assert.deepStrictEqual(yield* errorOf(teacher.computeLogprobs(prompt)), [
        "Unsupported",
        `computeLogprobs: promptLogprobs is not supported: ${url} returned no log-probability of prompt token 2 of 3`
      ])
    }).pipe(Effect.provide(server.layer))
  })

  it.effect("refuses to sample, and prompts that do not fit", () =>
    Effect.gen(function*() {
      const teacher = yield* connect()
      const sampled = teacher.sample({ prompt, params: { maxTokens: 8 } })
      assert.deepStrictEqual((yield* errorOf(sampled))[0], "Unsupported")
      const long = teacher.computeLogprobs(ModelInput.fromTokens(new Int32Array(16)))
      assert.deepStrictEqual((yield* errorOf(long))[0], "ContextTooLong")
    }).pipe(Effect.provide(vllm().layer)))

  it.effect("fails if the endpoint does not list the model, or does not tell its context length", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* errorOf(Effect.provide(connect({ model: "other" }), vllm().layer)), [
        "NotFound",
        `capabilities: no model "other"; choose from: teacher`
      ])
      const silent = answering(() => Effect.sync(() => Response.json({ data: [{ id: model }] })))
      assert.deepStrictEqual((yield* errorOf(Effect.provide(connect(), silent.layer)))[0], "Unsupported")
    }))

  it.effect("sends requests again that were turned away or failed at the server, and no others", () => {
    const failures: Array<number> = []
    const server = endpoint(({ prompt }) => {
      const status = failures.shift()
      return status === undefined
        ? [200, { choices: [{ prompt_logprobs: prompt.map((token: number) => ({ [token]: { logprob: -1 } })) }] }]
        : [status, { error: "failed" }, "30"]
    })
    return Effect.gen(function*() {
      const teacher = yield* connect()
      const before = server.asked.length
      failures.push(503, 429)
      const answered = yield* Effect.forkChild(teacher.computeLogprobs(prompt))
      yield* TestClock.adjust("20 seconds")
      assert.strictEqual(server.asked.length, before + 2)
      yield* TestClock.adjust("20 seconds")
      assert.lengthOf(yield* Fiber.join(answered), 3)
      failures.push(422)
      assert.deepStrictEqual(yield* errorOf(teacher.computeLogprobs(prompt)), [
        "Rejected",
        `computeLogprobs: status 422: {"error":"failed"}`
      ])
    }).pipe(Effect.provide(server.layer))
  })
})

const instruct = "Qwen/Qwen3-4B-Instruct-2507"

/** The repository's own endpoints over a backend that gives the prompt's token t the log-probability −t/2. */
const own = Effect.gen(function*() {
  const backend = ScriptedTinker.layer({
    models: { [instruct]: { contextLength: 64, sampling: ["topkSampleLogprobs"] } },
    sample: ({ prompt }) => ({
      sequences: [{
        tokens: Int32Array.of(1),
        logprobs: Float32Array.of(-1),
        topkLogprobs: [[{ token: 1, logprob: -1 }]],
        stopReason: "length"
      }],
      promptLogprobs: Float32Array.from({ length: prompt.length }, (_, at) => at === 0 ? NaN : -at / 2),
      topkPromptLogprobs: Array.from({ length: prompt.length }, (_, at) => at === 0 ? [] : [{ token: 1, logprob: -1 }])
    })
  })
  const context = yield* Layer.build(Layer.merge(backend, TestTokenizer.layer()))
  const answerer = yield* Effect.gen(function*() {
    const chatModel = yield* ChatModel.resolve(instruct)
    const client = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ baseModel: instruct }))
    return Samplers.answerer({ [model]: { chatModel, client } })
  }).pipe(Effect.provideContext(context))
  const body = Effect.orDie(Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ text }) => text))
  const serve = Effect.succeed({ answerer, body, isLenient: false, noted: () => Effect.void })
  return HttpEffect.toWebHandler(yield* HttpRouter.toHttpEffect(HttpRouter.addAll(Dialects.routes(serve))))
})

describe("this repository's server", () => {
  it.effect("serves the log-probabilities of a teacher", () =>
    Effect.gen(function*() {
      const handle = yield* own
      const { layer } = answering(({ body, path }) =>
        Effect.promise(() =>
          handle(
            new Request(
              `http://teacher${path}`,
              path === "/models" ? {} : { method: "POST", body: JSON.stringify(body) }
            )
          )
        )
      )
      const teacher = yield* Effect.provide(connect(), layer)
      assert.deepInclude(teacher.capabilities, { contextLength: 63, topkPromptLogprobs: 0 })
      const tokens = TestTokenizer.characters.encode("1 + 2 = 3")
      const logprobs = yield* teacher.computeLogprobs(ModelInput.fromTokens(tokens))
      assert.deepStrictEqual([...logprobs], Array.from(tokens, (_, at) => at === 0 ? NaN : -at / 2))
    }).pipe(Effect.scoped))
})
