import * as Effect from "effect/Effect"
import * as Blame from "../Blame.ts"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import { RawRequests, type Reply } from "../RawRequests.ts"

/** The difference up to which two log-probabilities count as equal. */
const same = 1e-5

const text = ({ body }: Reply) => JSON.stringify(body)

const expectSameResult = Effect.fnUntraced(function*(first: Reply, again: Reply) {
  const { result } = yield* RawRequests
  const [one, other] = [text(yield* result(first)), text(yield* result(again))]
  yield* Check.expect(one === other, `the same result, ${one.slice(0, 200)}`, other.slice(0, 200))
})

export const step: Check.Check = {
  theme: "repeats",
  name: "a repeated optimizer step is taken once",
  why: "A client whose answer was lost sends its step again, and a second step would move the weights by momentum.",
  run: Effect.gen(function*() {
    const { post, result, session } = yield* RawRequests
    const { model } = yield* session
    const model_id = yield* model
    yield* Blame.expectDone(yield* post("/forward_backward", Examples.pass(model_id, 1)))
    const send = post("/optim_step", Examples.step(model_id, 2))
    const first = yield* send
    yield* Blame.expectDone(first)
    const forward = (sequence: number) =>
      Effect.flatMap(
        Effect.flatMap(post("/forward", Examples.forward(model_id, sequence)), result),
        Examples.logprobsOf
      )
    const once = yield* forward(3)
    yield* expectSameResult(first, yield* send)
    yield* Check.expectClose("logprobs after the repeated step", yield* forward(4), once, same)
  })
}

export const pass: Check.Check = {
  theme: "repeats",
  name: "a repeated pass returns the result of the first",
  why: "A gradient that is counted twice overweights part of a batch.",
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const { model } = yield* session
    const send = post("/forward_backward", Examples.pass(yield* model, 1))
    const [first, again] = [yield* send, yield* send]
    yield* Check.expect(
      first.body["request_id"] === again.body["request_id"],
      `the promise ${first.body["request_id"]} again`,
      again.body["request_id"]
    )
    yield* expectSameResult(first, again)
  })
}

export const sample: Check.Check = {
  theme: "repeats",
  name: "a repeated sampling request returns the samples of the first",
  why: "Samples that are drawn twice are billed twice, and one copy is never recorded.",
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const { sampler } = yield* session
    const send = post("/asample", Examples.sample(yield* sampler, 1))
    yield* expectSameResult(yield* send, yield* send)
  })
}

export const model: Check.Check = {
  theme: "repeats",
  name: "a repeated request for a model returns the same model",
  why: "A second model uses the server's memory without any client knowing.",
  run: Effect.gen(function*() {
    const { model: base_model, post, session } = yield* RawRequests
    const { id: session_id } = yield* session
    const send = post("/create_model", Examples.adapter(session_id, base_model))
    yield* expectSameResult(yield* send, yield* send)
  })
}

export const otherContent: Check.Check = {
  theme: "repeats",
  name: "reusing a number for a different request is a client error",
  why: "A client that reuses a number by mistake would otherwise get the wrong result.",
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const { model } = yield* session
    const model_id = yield* model
    yield* Blame.expectDone(yield* post("/optim_step", Examples.step(model_id, 1)))
    yield* Blame.expectRefused(yield* post("/optim_step", Examples.step(model_id, 1, { learning_rate: 1e-3 })))
  })
}

/** A check that sends the first request to a new model twice and expects equal results. */
const sentTwice = (name: string, why: string, path: string, body: object, again: object = body): Check.Check => ({
  theme: "repeats",
  name,
  why,
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const { model } = yield* session
    const model_id = yield* model
    const first = yield* post(path, { model_id, seq_id: 1, ...body })
    yield* Blame.expectDone(first)
    yield* expectSameResult(first, yield* post(path, { model_id, seq_id: 1, ...again }))
  })
})

const lostSave = "A client whose answer was lost saves again, and a refusal would end a run whose weights are safe."

export const save = sentTwice(
  "a repeated request to save a state saves it once",
  lostSave,
  "/save_weights",
  { path: "certify-repeat", overwrite: false, type: "save_weights" }
)

export const saveForSampler = sentTwice(
  "a repeated request to save sampler weights saves them once",
  lostSave,
  "/save_weights_for_sampler",
  { path: "certify-repeat", kind: "snapshot", type: "save_weights_for_sampler" }
)

export const snapshot = sentTwice(
  "a repeated request for a snapshot returns the same snapshot, whatever its sampling session's number",
  "A client that retries uses a new number, and a second snapshot fills the server's memory.",
  "/save_weights_for_sampler",
  { sampling_session_seq_id: 1, kind: "snapshot", type: "save_weights_for_sampler" },
  { sampling_session_seq_id: 2, kind: "snapshot", type: "save_weights_for_sampler" }
)

export const samplingSession: Check.Check = {
  theme: "repeats",
  name: "a repeated request for a sampling session returns the same session",
  why: "A second session uses the server's memory without any client knowing.",
  run: Effect.gen(function*() {
    const { model: base_model, post, session } = yield* RawRequests
    const { id: session_id } = yield* session
    const type = "create_sampling_session"
    const send = post("/create_sampling_session", { session_id, sampling_session_seq_id: 7, base_model, type })
    const [one, other] = [yield* send, yield* send].map(({ body }) => String(body["sampling_session_id"]))
    yield* Check.expect(one === other, `sampling session ${one} again`, other)
  })
}

export const otherSample: Check.Check = {
  theme: "repeats",
  name: "reusing a request number with a different prompt does not return the first prompt's samples",
  why: "A client that reuses a number by mistake would otherwise train on answers to a different question.",
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const { sampler } = yield* session
    const id = yield* sampler
    const first = yield* Blame.expectDone(yield* post("/asample", Examples.sample(id, 1)))
    const prompt = Examples.prompt([9, 8, 7])
    const again = yield* post("/asample", Examples.sample(id, 1, { prompt, num_samples: 1 }))
    if (again.status >= 400) return yield* Blame.expectRefused(again)
    const { result } = yield* RawRequests
    const other = yield* result(again)
    yield* Check.expect(
      text(first) !== text(other),
      "a refusal, or samples of the other prompt",
      text(other).slice(0, 200)
    )
  })
}

/** Integers beyond 2⁵³ that are equal as JavaScript numbers. */
const bigNumbers = ["1152921504606846976", "1152921504606846977"]

export const bigSequences: Check.Check = {
  theme: "repeats",
  name: "64-bit numbers that differ by one are separate requests",
  why:
    "Copied clients start from large numbers. Read as floats, these would coincide, and requests would get each other's samples.",
  run: Effect.gen(function*() {
    const { postText, result, session } = yield* RawRequests
    const { sampler } = yield* session
    const id = yield* sampler
    const promises = yield* Effect.forEach(bigNumbers, (number, at) => {
      const { seq_id: _, ...request } = Examples.sample(id, 0, {
        num_samples: 1,
        sampling_params: { ...Examples.sampling, max_tokens: 3 + at, temperature: 0 }
      })
      return postText("/asample", `{"seq_id":${number},${JSON.stringify(request).slice(1)}`)
    })
    const [one, other] = promises.map(({ body }) => body["request_id"])
    yield* Check.expect(one !== other, "two promises", `${one} twice`)
    const [first, second] = yield* Effect.forEach(
      promises,
      (promise) => Effect.map(result(promise), ({ body }) => Examples.sequencesOf(body)[0]?.tokens.length)
    )
    yield* Check.expect(first === 3 && second === 4, "samples of 3 and 4 tokens", `${first} and ${second}`)
  })
}

export const all = [
  step,
  pass,
  sample,
  model,
  otherContent,
  save,
  saveForSampler,
  snapshot,
  samplingSession,
  otherSample,
  bigSequences
]
