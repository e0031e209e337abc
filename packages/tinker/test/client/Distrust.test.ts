import { create, toBinary } from "@bufbuild/protobuf"
import { Loss, type TinkerError } from "@effect-rl/core"
import { ModelInput, type Sampling } from "@effect-rl/core/backend"
import { WireError } from "@effect-rl/tinker"
import { DType, ForwardBackwardOutputSchema, SampleResponseSchema } from "@effect-rl/tinker/wire/gen/TinkerPublic.gen"
import * as PassResult from "@effect-rl/tinker/wire/PassResult"
import * as SampleResult from "@effect-rl/tinker/wire/SampleResult"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, Redacted } from "effect"
import { datum, sampler, train } from "./Calls.ts"
import { withTinker } from "./Elapse.ts"
import * as FakeService from "./FakeService.ts"

const prompt = ModelInput.fromTokens([1, 2])

const sample = (more: Partial<Sampling.SampleRequest> = {}) =>
  Effect.flatMap(sampler, (client) => client.sample({ prompt, params: { maxTokens: 2 }, ...more }))

const protobuf = (bytes: Uint8Array) =>
  new Response(new Uint8Array(bytes), { headers: { "content-type": "application/x-protobuf" } })

/** A service that answers every poll with the same bytes. */
const answering = (bytes: Uint8Array, more: FakeService.Routes = {}) =>
  FakeService.make({ routes: { "/retrieve_future": () => protobuf(bytes), ...more } })

const sequence = { tokens: Int32Array.of(1, 2), logprobs: Float32Array.of(-1, -2), stopReason: "stop" as const }

const sampled = (more: Partial<Sampling.SampledTokens>) =>
  SampleResult.encode({ sequences: [{ ...sequence, ...more }] })

const wireReason = ({ cause }: TinkerError.TinkerError) =>
  cause instanceof WireError.WireError ? cause.reason : assert.fail("there is no WireError behind it")

const pass = Effect.flatMap(train, (client) =>
  Effect.flatMap(
    client.forwardBackward([datum], Loss.crossEntropy),
    (pending) => Effect.map(Effect.flip(pending.await), (error) => ({ client, error }))
  ))

/** A response that never ends; it stops when nobody reads it. */
const endless = (headers: Record<string, string> = {}) => {
  const state = { sent: 0, isClosed: false }
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      state.sent += 1024
      controller.enqueue(new Uint8Array(1024).fill(32))
    },
    cancel: () => {
      state.isClosed = true
    }
  })
  return { state, response: new Response(body, { headers: { "content-type": "application/json", ...headers } }) }
}

/** The lines logged while `use` runs. */
const logging = <A, E, R>(use: Effect.Effect<A, E, R>) => {
  const lines: Array<string> = []
  const logger = Logger.make(({ message }) => void lines.push(String(message)))
  return Effect.map(Effect.provide(use, Logger.layer([logger])), () => lines)
}

describe("an answer without an end", () => {
  for (const path of ["/asample", "/retrieve_future", "/get_server_capabilities"]) {
    it.effect(`of ${path} is read up to the limit, and the connection is closed`, () =>
      Effect.gen(function*() {
        const { response, state } = endless()
        const service = FakeService.make({ routes: { [path]: () => response } })
        const error = yield* Effect.flip(withTinker(service, sample(), { maxResponseSize: "64 KiB" }))
        assert.include(error.message, "more than 65536 bytes, the largest answer that is read")
        assert.strictEqual(wireReason(error)._tag, "TooLarge")
        assert.isBelow(state.sent, 80_000)
        assert.isTrue(state.isClosed)
        assert.strictEqual(service.received.filter((one) => one.path === path).length, 1)
      }))
  }

  it.effect("is not read at all if it declares its length", () =>
    Effect.gen(function*() {
      const { response, state } = endless({ "content-length": "999999999" })
      const service = FakeService.make({ routes: { "/asample": () => response } })
      const error = yield* withTinker(service, Effect.flip(sample()), { maxResponseSize: "64 KiB" })
      assert.strictEqual(wireReason(error)._tag, "TooLarge")
      assert.isBelow(state.sent, 10_000)
    }))

  it.effect("counts by its decompressed size if it is compressed, whatever length it declares", () =>
    Effect.gen(function*() {
      const { response } = endless({ "content-length": "20", "content-encoding": "gzip" })
      const service = FakeService.make({ routes: { "/asample": () => response } })
      const error = yield* withTinker(service, Effect.flip(sample()), { maxResponseSize: "64 KiB" })
      assert.strictEqual(wireReason(error)._tag, "TooLarge")
    }))
})

/** `count` empty fields of two bytes each, with this field number. */
const emptyFields = (count: number, number: number) =>
  Uint8Array.from({ length: 2 * count }, (_, index) => index % 2 === 0 ? 8 * number + 2 : 0)

/** 4,400,000 candidates, split evenly between two sequences. */
const candidates = () => {
  const [k, length] = [20, 110_000]
  const cells = new Uint8Array(4 * k * length)
  const one = { tokens: cells.subarray(0, 8), topkSampledLogprobs: { tokenIds: cells, logprobs: cells, k, length } }
  return toBinary(SampleResponseSchema, create(SampleResponseSchema, { sequences: [one, one] }))
}

/** `count` empty arrays with the same name, each with a list of its sizes. */
const arrays = (count: number, sizes = 0) => {
  const trailingShape = Array.from({ length: sizes }, () => 1n)
  const logprobs = { offsets: new Uint8Array(8 * (count + 1)), dtype: DType.FLOAT32, trailingShape }
  return toBinary(
    ForwardBackwardOutputSchema,
    create(ForwardBackwardOutputSchema, { lossFnOutputs: [{ fields: { logprobs } }] })
  )
}

describe("an answer of many small parts that take more memory than their encoding is refused", () => {
  const ofSample: ReadonlyArray<readonly [title: string, bytes: () => Uint8Array, message: string]> = [
    ["600,000 sequences", () => emptyFields(600_000, 1), "it has more than 500000 fields"],
    ["4,400,000 candidates", candidates, "it has more than 4194304 candidates"]
  ]
  for (const [title, bytes, message] of ofSample) {
    it.effect(`to a request to sample: ${title}`, () =>
      Effect.gen(function*() {
        const error = yield* withTinker(answering(bytes()), Effect.flip(sample()))
        assert.include(error.message, message)
        assert.strictEqual(wireReason(error)._tag, "Unreadable")
      }))
  }

  const ofPass: ReadonlyArray<readonly [title: string, bytes: () => Uint8Array, message: string]> = [
    ["600,000 records", () => emptyFields(600_000, 2), "it has more than 500000 fields"],
    ["600,000 arrays", () => arrays(600_000), "it has more than 500000 arrays"],
    ["400,000 sizes of 1,000 arrays", () => arrays(1000, 400_000), "400000 trailing sizes, expected fewer than 8"]
  ]
  for (const [title, bytes, message] of ofPass) {
    it.effect(`to a training pass: ${title}`, () =>
      Effect.gen(function*() {
        const answer = bytes()
        const service = FakeService.make({
          routes: { "/retrieve_future": ({ request_id }) => request_id === "future-0" ? undefined : protobuf(answer) }
        })
        const { error } = yield* withTinker(service, pass)
        assert.include(error.message, message)
        assert.strictEqual(wireReason(error)._tag, "Unreadable")
      }))
  }
})

describe("a sample is not trusted", () => {
  const wrong: ReadonlyArray<readonly [title: string, sequence: Partial<Sampling.SampledTokens>, message: string]> = [
    [
      "of more tokens than were asked for",
      { tokens: Int32Array.of(1, 2, 3), logprobs: Float32Array.of(-1, -1, -1) },
      "3 tokens, at most 2 were asked for"
    ],
    ["with a log-probability of +50", { logprobs: Float32Array.of(-1, 50) }, "50 as the log-probability of token 1"],
    ["with a log-probability of NaN", { logprobs: Float32Array.of(NaN, -1) }, "NaN as the log-probability of token 0"],
    [
      "with fewer log-probabilities than tokens",
      { logprobs: Float32Array.of(-1) },
      "2 tokens with 1 log-probabilities"
    ],
    ["of a token below 0", { tokens: Int32Array.of(1, -7) }, "token -7"]
  ]

  for (const [title, more, message] of wrong) {
    it.effect(title, () =>
      Effect.gen(function*() {
        const error = yield* withTinker(answering(sampled(more)), Effect.flip(sample()))
        assert.include(error.message, message)
        assert.include(error.message, "nothing of it is used")
        assert.strictEqual(wireReason(error)._tag, "Untrusted")
      }))
  }

  it.effect("whose prompt has a log-probability above 0", () =>
    Effect.gen(function*() {
      const bytes = SampleResult.encode({ sequences: [sequence], promptLogprobs: Float32Array.of(NaN, 2) })
      const error = yield* withTinker(answering(bytes), Effect.flip(sample({ promptLogprobs: true })))
      assert.include(error.message, "2 as the log-probability of prompt token 1")
    }))

  it.effect("whose request id belongs to an earlier sample", () =>
    Effect.gen(function*() {
      const service = FakeService.make({ routes: { "/asample": () => FakeService.json({ request_id: "always" }) } })
      const use = Effect.gen(function*() {
        const client = yield* sampler
        const request = { prompt, params: { maxTokens: 2 } }
        return yield* Effect.flip(Effect.andThen(Effect.exit(client.sample(request)), client.sample(request)))
      })
      const error = yield* withTinker(service, use)
      assert.include(error.message, "request_id \"always\", which is that of another request")
    }))

  it.effect("except that a log-probability may exceed 0 slightly through rounding", () =>
    Effect.gen(function*() {
      const found = yield* withTinker(answering(sampled({ logprobs: Float32Array.of(1e-6, -1) })), sample())
      assert.strictEqual(found.sequences.length, 1)
    }))
})

describe("an answer that lacks a requested field", () => {
  const asked: ReadonlyArray<readonly [string, Partial<Sampling.SampleRequest>]> = [
    ["topkPromptLogprobs", { topkPromptLogprobs: 2 }],
    ["topkSampleLogprobs", { topkSampleLogprobs: 2 }],
    ["targetPromptLogprobs", { targetPromptLogprobs: { tokens: Int32Array.of(3), candidates: 1 } }],
    ["promptAltTokens", { promptAltTokens: 2 }]
  ]
  for (const [field, more] of asked) {
    it.effect(`is refused, naming the field: ${field}`, () =>
      Effect.gen(function*() {
        const { reason } = yield* withTinker(answering(sampled({})), Effect.flip(sample(more)))
        assert.strictEqual(reason._tag, "Unsupported")
        assert.include(reason.message, `${field} is not supported: the service answered without it`)
      }))
  }
})

describe("a pass is not trusted", () => {
  const outputs: ReadonlyArray<readonly [title: string, logprobs: Float32Array, message: string]> = [
    ["with a log-probability above 0", Float32Array.of(-1, 3, -1), "3 as the log-probability of target 1"],
    ["with NaN at a target that counts", Float32Array.of(-1, -1, NaN), "NaN as the log-probability of target 2"],
    ["of another length than its datum", Float32Array.of(-1), "1 log-probabilities of 3 tokens"]
  ]
  for (const [title, logprobs, message] of outputs) {
    it.effect(`${title}, and its model takes no further step`, () =>
      Effect.gen(function*() {
        const bytes = PassResult.encode({ outputs: [{ logprobs }], metrics: { "loss:sum": 1 } })
        const service = FakeService.make({
          routes: {
            "/retrieve_future": ({ request_id }) => request_id === "future-0" ? undefined : protobuf(bytes)
          }
        })
        const use = Effect.flatMap(
          pass,
          ({ client, error }) =>
            Effect.map(Effect.flip(client.optimStep({ learningRate: 1 })), (later) => ({ error, later }))
        )
        const { error, later } = yield* withTinker(service, use)
        assert.include(error.message, message)
        assert.strictEqual(later.reason._tag, "Closed")
        assert.deepStrictEqual(service.steps, [])
      }))
  }

  it.effect("except that NaN is accepted at a position with weight 0", () =>
    Effect.gen(function*() {
      const logprobs = Float32Array.of(NaN, -1, -1)
      const bytes = PassResult.encode({ outputs: [{ logprobs }], metrics: { "loss:sum": 1 } })
      const service = FakeService.make({
        routes: { "/retrieve_future": ({ request_id }) => request_id === "future-0" ? undefined : protobuf(bytes) }
      })
      const use = Effect.flatMap(train, (client) =>
        Effect.flatMap(client.forwardBackward([datum], Loss.crossEntropy), (pending) => pending.await))
      assert.deepStrictEqual((yield* withTinker(service, use)).logprobs, [logprobs])
    }))
})

describe("a key that cannot be sent in a header", () => {
  for (const key of ["tml-a\r\nx-evil: 1", "tml-a\n", "tml-schlüssel", "tml-a b"]) {
    it.effect(`is refused at once, and not shown: ${JSON.stringify(key)}`, () =>
      Effect.gen(function*() {
        const service = FakeService.make()
        const error = yield* Effect.flip(withTinker(service, sample(), { apiKey: Redacted.make(key) }))
        assert.strictEqual(error.reason._tag, "Rejected")
        assert.include(error.message, "TINKER_API_KEY has a space, a line break or a character beyond ASCII")
        assert.notInclude(error.message, key.slice(4))
        assert.deepStrictEqual(service.received, [])
      }))
  }
})

describe("a retry", () => {
  const page = () => new Response("<html>Bad gateway</html>", { headers: { "content-type": "text/html" } })

  const cases: ReadonlyArray<readonly [title: string, answer: () => Response, line: string]> = [
    ["an HTML page", page, "the answer is an HTML page"],
    ["a 5xx", () => FakeService.json({ detail: "overloaded" }, 503), "HTTP 503: overloaded"],
    ["a 402", () => FakeService.json({ detail: "no credit" }, 402), "check the account's billing"]
  ]
  for (const [title, answer, line] of cases) {
    it.effect(`is logged: ${title}`, () =>
      Effect.gen(function*() {
        const service = FakeService.make({ routes: { "/create_sampling_session": answer } })
        const lines = yield* logging(Effect.exit(withTinker(service, sample(), { deadline: "3 minutes" })))
        const said = lines.filter((text) => text.includes(line))
        assert.isAtLeast(said.length, 1)
        assert.isAtMost(said.length, 4, "once a minute")
      }))
  }

  it.effect("cannot forge a line of the log", () =>
    Effect.gen(function*() {
      const evil = "no\n12:00:00 INFO all is well\u001b[2J\u2028next"
      const service = FakeService.make({
        routes: {
          "/create_session": () => FakeService.json({ session_id: "session", warning_message: evil }),
          "/create_sampling_session": () => FakeService.json({ detail: evil }, 400)
        }
      })
      const lines = yield* logging(Effect.flip(withTinker(service, sample())))
      assert.isTrue(lines.some((line) => line.includes("all is well")))
      // oxlint-disable-next-line no-control-regex
      for (const line of lines) assert.notMatch(line, /[\u0000-\u001f\u2028]/)
      const error = yield* Effect.flip(withTinker(service, sample()))
      assert.include(error.message, "no 12:00:00 INFO all is well")
      assert.notInclude(error.message, "\n")
    }))
})
