import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Answer from "../../client/Answer.ts"
import { sdk_version } from "../../client/ClientConfig.ts"
import * as Future from "../../wire/Future.ts"
import * as SampleResult from "../../wire/SampleResult.ts"
import * as Blame from "../Blame.ts"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import { RawRequests, type Reply } from "../RawRequests.ts"

export const askedTwice: Check.Check = {
  theme: "futures",
  name: "a result can be requested again",
  why: "An answer may get lost, and the work must not be repeated.",
  run: Effect.gen(function*() {
    const { post, result, session } = yield* RawRequests
    const { sampler } = yield* session
    const promise = yield* post("/asample", Examples.sample(yield* sampler, 1))
    const first = yield* Blame.expectDone(promise)
    const again = JSON.stringify((yield* result(promise)).body)
    yield* Check.expect(JSON.stringify(first.body) === again, "the same result", again.slice(0, 200))
  })
}

/** How many other futures a busy client has open. */
const others = 48

export const kept: Check.Check = {
  theme: "futures",
  name: `a result is kept while ${others} others are requested and read`,
  why: "Clients ask for hundreds of samples at once and read the results as they come.",
  run: Effect.gen(function*() {
    const { post, result, session } = yield* RawRequests
    const { sampler } = yield* session
    const id = yield* sampler
    const brief = { num_samples: 1, sampling_params: { ...Examples.sampling, max_tokens: 1 } }
    const ask = (sequence: number) => post("/asample", Examples.sample(id, sequence, brief))
    const promise = yield* ask(1)
    const unread = yield* ask(2)
    const first = yield* Blame.expectDone(promise)
    yield* Effect.forEach(Arr.range(3, 2 + others), (sequence) => Effect.flatMap(ask(sequence), result), {
      concurrency: 8,
      discard: true
    })
    const again = JSON.stringify((yield* result(promise)).body)
    yield* Check.expect(JSON.stringify(first.body) === again, "the same result", again.slice(0, 200))
    yield* Blame.expectDone(unread)
  })
}

export const unknown: Check.Check = {
  theme: "futures",
  name: "asking for the result of an unknown request is a client error",
  why: "A pending result or a server error would keep a client waiting until its deadline.",
  run: Effect.gen(function*() {
    const { post } = yield* RawRequests
    yield* Blame.expectRefused(
      yield* post("/retrieve_future", { request_id: "no-such-request", allow_metadata_only: false })
    )
  })
}

export const cancelled: Check.Check = {
  theme: "futures",
  name: "a cancelled request ends",
  why: "A client that gives up must not leave useless work on the server.",
  run: Effect.gen(function*() {
    const { post, result, session } = yield* RawRequests
    const { sampler } = yield* session
    const { body } = yield* post("/asample", Examples.sample(yield* sampler, 1))
    const { status } = yield* post("/cancel_future", { request_id: body["request_id"] })
    if (status === 404 || status === 405) return yield* Check.absent("requests cannot be cancelled")
    yield* Blame.expectStatus({ status, body: {} }, 200, 202, 204)
    yield* result({ status: 200, body })
  })
}

export const cancelledAlone: Check.Check = {
  theme: "futures",
  name: "a cancellation affects one request: others continue, and a finished request keeps its result",
  why: "A client that cancels one sample would lose its others.",
  run: Effect.gen(function*() {
    const { post, result, session } = yield* RawRequests
    const { sampler } = yield* session
    const id = yield* sampler
    const done = yield* post("/asample", Examples.sample(id, 1))
    const before = yield* Blame.expectDone(done)
    const long = { sampling_params: { ...Examples.sampling, max_tokens: 64 } }
    const [gone, left] = [
      yield* post("/asample", Examples.sample(id, 2, long)),
      yield* post("/asample", Examples.sample(id, 3, long))
    ]
    const cancel = ({ body }: Reply) => post("/cancel_future", { request_id: body["request_id"] })
    const { status } = yield* cancel(gone)
    if (status === 404 || status === 405) return yield* Check.absent("requests cannot be cancelled")
    yield* cancel(done)
    yield* Blame.expectDone(left)
    const after = JSON.stringify((yield* result(done)).body)
    yield* Check.expect(after === JSON.stringify(before.body), "the same result", after.slice(0, 200))
    yield* result(gone)
    yield* Blame.expectDone(yield* post("/asample", Examples.sample(id, 4)))
  })
}

const strings = (value: unknown): ReadonlyArray<string> =>
  Array.isArray(value) ? value.filter((one) => typeof one === "string") : []

/** The ids of the completions that `retrieve_futures` returns. */
const idsIn = (completions: unknown): ReadonlyArray<unknown> =>
  Array.isArray(completions)
    ? completions.map((one: unknown) =>
      typeof one === "object" && one !== null && "request_id" in one ? one.request_id : one
    )
    : []

export const together: Check.Check = {
  theme: "futures",
  name: "retrieve_futures reports all finished requests of a sampler",
  why: "Newer clients ask for all their samples in one request.",
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const config = yield* post("/client/config", { sdk_version })
    if (config.body["sample_use_retrieve_futures"] !== true) {
      return yield* Check.absent("the server's config tells clients to request each result separately")
    }
    const { sampler } = yield* session
    const sampling_session_id = yield* sampler
    const target = { type: "sampling_session", sampling_session_id, cloned_sampler_id: 0 }
    const promises = yield* Effect.forEach(
      [1, 2, 3],
      (sequence) => post("/asample", Examples.sample(sampling_session_id, sequence))
    )
    yield* Effect.forEach(promises, Blame.expectDone)
    const { body } = yield* post("/retrieve_futures", { target, prev_cursor: 0, timeout: 5, retrieved_request_ids: [] })
    const found = idsIn(body["completions"])
    for (const { body } of promises) {
      yield* Check.expect(found.includes(body["request_id"]), `${body["request_id"]} among them`, found.join(", "))
    }
  })
}

const Metadata = Schema.is(Future.Metadata)

export const metadata: Check.Check = {
  theme: "futures",
  name: "a result is replaced by its size only if the client allows metadata, and the size is right",
  why: "Clients reserve memory by this size. If it is wrong, large results exhaust their memory.",
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const { sampler } = yield* session
    const promise = yield* post("/asample", Examples.sample(yield* sampler, 1, { num_samples: 16 }))
    const whole = yield* Blame.expectDone(promise)
    yield* Check.expect(!Metadata(whole.body), "the result itself", JSON.stringify(whole.body).slice(0, 200))
    const { request_id } = promise.body
    const { body } = yield* post("/retrieve_future", { request_id, allow_metadata_only: true })
    if (!Metadata(body)) return "the server sends results without announcing their size"
    const { length } = JSON.stringify(whole.body)
    const size = body.response_payload_size
    yield* Check.expect(size > length / 20 && size < length * 20, `a size of about ${length} bytes`, size)
  })
}

export const inProtobuf: Check.Check = {
  theme: "futures",
  name: "a result is the same in protobuf and in JSON",
  why: "The official SDK reads samples only in protobuf; tools and older clients read JSON.",
  run: Effect.gen(function*() {
    const { post, resultBytes, session } = yield* RawRequests
    const { sampler } = yield* session
    const promise = yield* post("/asample", Examples.sample(yield* sampler, 1, { num_samples: 3 }))
    const json = Examples.sequencesOf((yield* Blame.expectDone(promise)).body)
    const answer = yield* resultBytes(promise)
    yield* Check.expect(Answer.isProtobuf(answer), "application/x-protobuf", answer.headers["content-type"])
    const { sequences } = yield* SampleResult.decode(answer.bytes)
    const [found, expected] = [sequences, json].map((all) => all.map(({ tokens }) => [...tokens].join(" ")).join("; "))
    yield* Check.expect(found === expected, `tokens ${expected}`, found)
    for (const [at, { logprobs = new Float32Array() }] of sequences.entries()) {
      yield* Check.expectClose(`logprobs of sample ${at}`, logprobs, json[at]?.logprobs ?? [], 1e-4)
    }
  })
}

const scored = {
  num_samples: 2,
  prompt_logprobs: true,
  topk_prompt_logprobs: 3,
  sampling_params: { ...Examples.sampling, temperature: 1.5, stop: [3, 5, 7, 11] }
}

export const scoresInProtobuf: Check.Check = {
  theme: "futures",
  name:
    "stop reasons, scores and candidates are the same in protobuf and JSON, and a prompt's first token has no score",
  why: "The official SDK reads samples only in protobuf; tools and older clients read JSON.",
  run: Effect.gen(function*() {
    const { post, result, resultBytes, session } = yield* RawRequests
    const { sampler } = yield* session
    const promise = yield* post("/asample", Examples.sample(yield* sampler, 1, scored))
    const { body, status } = yield* result(promise)
    if (status !== 200 || "error" in body) return yield* Check.absent("candidates are not given")
    const bytes = yield* SampleResult.decode((yield* resultBytes(promise)).bytes)
    const listOf = (value: unknown): ReadonlyArray<unknown> => Array.isArray(value) ? value : []
    const reasons = listOf(body["sequences"]).map((one) =>
      typeof one === "object" && one !== null && "stop_reason" in one ? one.stop_reason : undefined
    )
    const found = bytes.sequences.map(({ stopReason }) => stopReason).join()
    yield* Check.expect(found === reasons.join(), `ends ${reasons.join()}`, found)
    const [first, ...scores] = listOf(body["prompt_logprobs"])
    yield* Check.expect(first === null, "null for the first token", first)
    yield* Check.expectClose("prompt_logprobs", bytes.promptLogprobs?.slice(1) ?? [], scores.map(Number), 1e-4)
    const rows = listOf(body["topk_prompt_logprobs"])
    for (const [at, row] of rows.entries()) {
      const expected = listOf(row).map((pair) => Number(listOf(pair)[1]))
      const candidates = (bytes.topkPromptLogprobs?.[at] ?? []).map(({ logprob }) => logprob)
      yield* Check.expectClose(`candidates in place ${at}`, candidates, expected, 1e-4)
    }
  })
}

export const named: Check.Check = {
  theme: "futures",
  name: "the promise of a sampling request has a different id for each sample",
  why: "The official SDK requires an id for each sample, which training data use to say where their tokens come from.",
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const { sampler } = yield* session
    const id = yield* sampler
    const names = yield* Effect.forEach([1, 2], (sequence) =>
      Effect.map(
        post("/asample", Examples.sample(id, sequence, { num_samples: 3 })),
        ({ body }) => strings(body["sample_sequence_ids"])
      ))
    yield* Check.expect(
      names.every(({ length }) => length === 3),
      "3 sample_sequence_ids of each request",
      names.join("; ")
    )
    const all = new Set(names.flat())
    yield* Check.expect(all.size === 6, "6 different ids", [...all].join(", "))
  })
}

export const all = [
  askedTwice,
  kept,
  unknown,
  cancelled,
  cancelledAlone,
  together,
  metadata,
  inProtobuf,
  scoresInProtobuf,
  named
]
