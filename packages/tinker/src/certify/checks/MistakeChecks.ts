/** Invalid requests to every endpoint must be refused as client errors and never be corrected silently. */
import { Tinker } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Blame from "../Blame.ts"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import * as NumberedModel from "../NumberedModel.ts"
import { RawRequests, type Reply } from "../RawRequests.ts"

const why = "Clients resend a request for minutes after a server error, so an invalid request would look like a hang."

const nothing = "certify-nothing"

const path = `tinker://${nothing}/weights/${nothing}`

const forPass = { forward_backward_input: { data: [Examples.datum()], loss_fn: "cross_entropy" } }

/** Requests for objects that do not exist. */
const unknown: ReadonlyArray<readonly [path: string, body: object]> = [
  ["/create_sampling_session", {
    session_id: nothing,
    sampling_session_seq_id: 0,
    base_model: nothing,
    type: "create_sampling_session"
  }],
  ["/forward_backward", { model_id: nothing, seq_id: 1, ...forPass }],
  ["/forward", { model_id: nothing, seq_id: 1, forward_input: forPass.forward_backward_input }],
  ["/optim_step", Examples.step(nothing, 1)],
  ["/save_weights", { model_id: nothing, seq_id: 1, path: nothing, overwrite: false, type: "save_weights" }],
  ["/save_weights_for_sampler", {
    model_id: nothing,
    seq_id: 1,
    path: nothing,
    kind: "snapshot",
    type: "save_weights_for_sampler"
  }],
  ["/load_weights", { model_id: nothing, seq_id: 1, path }],
  ["/unload_model", { model_id: nothing, type: "unload_model" }],
  ["/weights_info", { tinker_path: path }],
  ["/weights_info", { tinker_path: nothing }],
  ["/asample", { ...Examples.sample(nothing, 1), sampling_session_id: undefined, model_path: path }],
  [`/sessions/${nothing}/finish`, {}]
]

const places = [
  `/training_runs/${nothing}`,
  `/training_runs/${nothing}/checkpoints`,
  `/training_runs/${nothing}/checkpoints/weights/${nothing}/archive`,
  `/samplers/${nothing}`,
  `/sessions/${nothing}`
]

const isAbsent = ({ status }: Reply) => status === 405 || status === 501

export const missing: Check.Check = {
  theme: "errors",
  name: "a request for a missing session, model, sampler, run or checkpoint is a client error",
  why,
  run: Effect.gen(function*() {
    const { get, model: base_model, post, session } = yield* RawRequests
    for (const [at, body] of unknown) {
      const reply = yield* post(at, body)
      if (!isAbsent(reply)) yield* Blame.expectRefused(reply)
    }
    for (const place of places) {
      const reply = yield* get(place)
      if (!isAbsent(reply)) yield* Blame.expectRefused(reply)
    }
    yield* Blame.expectRefused(yield* post("/create_model", Examples.adapter(nothing, base_model)))
    const { id: session_id, model } = yield* session
    const create = { session_id, sampling_session_seq_id: 3, type: "create_sampling_session" }
    yield* Blame.expectRefused(yield* post("/create_sampling_session", { ...create, model_path: path }))
    const made = yield* NumberedModel.of(yield* model)
    yield* Blame.expectRefused(yield* made.send("/load_weights", { path, optimizer: true }))
    const target = { type: "sampling_session", sampling_session_id: nothing, cloned_sampler_id: 0 }
    const together = yield* post("/retrieve_futures", { target, prev_cursor: 0, retrieved_request_ids: [], timeout: 0 })
    if (!isAbsent(together)) yield* Blame.expectRefused(together)
  })
}

/** Values of the wrong type for a sampling request. */
const wrongSamples = [
  { num_samples: "two" },
  { num_samples: 1.5 },
  { prompt: "3 1 4" },
  { prompt: { chunks: [{ type: "encoded_text", tokens: [1.5] }] } },
  { prompt: { chunks: [{ type: "encoded_text", tokens: ["1"] }] } },
  { prompt: { chunks: [{ type: "certify", tokens: [1] }] } },
  { sampling_params: { ...Examples.sampling, max_tokens: 1.5 } },
  { sampling_params: { ...Examples.sampling, temperature: "hot" } },
  { sampling_params: { ...Examples.sampling, top_k: 1.5 } },
  { sampling_params: { ...Examples.sampling, top_p: "all" } },
  { sampling_params: { ...Examples.sampling, stop: 7 } },
  { sampling_params: { ...Examples.sampling, stop: [{}] } },
  { sampling_params: { ...Examples.sampling, seed: "one" } }
]

export const wrongTypes: Check.Check = {
  theme: "errors",
  name: "a value of the wrong type is refused, never converted",
  why: "A converted mistake is answered as if the client had written something else.",
  run: Effect.gen(function*() {
    const { model: base_model, post, session } = yield* RawRequests
    const { id: session_id, model, sampler } = yield* session
    const id = yield* sampler
    for (const [at, more] of wrongSamples.entries()) {
      yield* Blame.expectRefused(yield* post("/asample", Examples.sample(id, at, more)))
    }
    for (const lora of [{ rank: 2.5 }, { rank: "8" }, { train_mlp: "no" }, { seed: "one" }]) {
      yield* Blame.expectRefused(yield* post("/create_model", Examples.adapter(session_id, base_model, lora)))
    }
    const made = yield* NumberedModel.of(yield* model)
    const { loss_fn_inputs, model_input } = Examples.datum()
    const weights = { ...loss_fn_inputs.weights, data: loss_fn_inputs.weights.data.map(String) }
    const wrongs: ReadonlyArray<readonly [path: string, body: object]> = [
      ["/forward_backward", { forward_backward_input: { data: "none", loss_fn: "cross_entropy" } }],
      ["/forward_backward", {
        forward_backward_input: {
          data: [{ model_input, loss_fn_inputs: { ...loss_fn_inputs, weights } }],
          loss_fn: "cross_entropy"
        }
      }],
      ["/forward_backward", { forward_backward_input: { data: [Examples.datum()], loss_fn: 7 } }],
      ["/optim_step", { adam_params: { ...Examples.adam, beta1: "0.9" }, type: "optim_step" }],
      ["/save_weights", { path: 7, overwrite: false, type: "save_weights" }],
      ["/save_weights", { path: "certify-ttl", ttl_seconds: "an hour", overwrite: false, type: "save_weights" }],
      ["/load_weights", { path: 7 }]
    ]
    const before = yield* made.logprobs
    for (const [at, body] of wrongs) yield* Blame.expectRefused(yield* made.send(at, body))
    yield* Check.expectClose("logprobs after refused requests", yield* made.logprobs, before, 1e-3)
  })
}

/** The inputs of a policy loss besides the targets. */
const policy = ["logprobs", "advantages"]

export const missingInputs: Check.Check = {
  theme: "errors",
  name: "a pass whose data lack an input of the loss is refused and adds no gradient",
  why: "A server that fills in missing values trains on numbers that no client sent.",
  run: Effect.gen(function*() {
    const made = yield* NumberedModel.make
    const before = yield* made.logprobs
    const { loss_fn_inputs: { target_tokens, weights }, model_input } = Examples.datum()
    const inputs: Readonly<Record<string, object>> = {
      target_tokens,
      ...Object.fromEntries(policy.map((name) => [name, weights]))
    }
    const pass = (loss_fn: string, given: object, loss_fn_config: object = {}) =>
      made.send("/forward_backward", {
        forward_backward_input: { data: [{ model_input, loss_fn_inputs: given }], loss_fn, loss_fn_config }
      })
    for (const loss of ["importance_sampling", "ppo"]) {
      for (const name of ["target_tokens", ...policy]) {
        const given = Object.fromEntries(Object.entries(inputs).filter(([other]) => other !== name))
        yield* Blame.expectRefused(yield* pass(loss, given))
      }
    }
    yield* Blame.expectRefused(yield* pass("cross_entropy", { weights }))
    yield* Blame.expectRefused(yield* pass("ppo", inputs, { clip_low_threshold: "low" }))
    yield* made.send("/optim_step", { adam_params: Examples.adam, type: "optim_step" })
    yield* Check.expectClose("logprobs after a step", yield* made.logprobs, before, 1e-3)
  })
}

export const manyCandidates: Check.Check = {
  theme: "limits",
  name: "a request with very many candidates, samples or stops is refused or answered in full",
  why: "Clients take a silently shortened list for the complete one.",
  run: Effect.gen(function*() {
    const { model, post, result, session } = yield* RawRequests
    const { topkPromptLogprobs: most } = yield* Tinker.Tinker.use(({ capabilities }) => capabilities(model))
    const { sampler } = yield* session
    const id = yield* sampler
    const ask = (seq_id: number, more: object) =>
      Effect.flatMap(post("/asample", Examples.sample(id, seq_id, { prompt_logprobs: true, ...more })), result)
    const isRefused = ({ body, status }: Reply) => status !== 200 || "error" in body
    for (const [at, count] of [most + 1, 2 * most, 21, 200].entries()) {
      const reply = yield* ask(2 * at, { topk_prompt_logprobs: count })
      if (isRefused(reply)) {
        yield* Blame.expectRefused(reply)
        continue
      }
      const rows = reply.body["topk_prompt_logprobs"]
      const last: unknown = Array.isArray(rows) ? rows.at(-1) : undefined
      const found = Array.isArray(last) ? last.length : 0
      yield* Check.expect(found === count, `a refusal, or ${count} candidates`, found)
    }
    for (const [at, count] of [257, 1000].entries()) {
      const params = { ...Examples.sampling, max_tokens: 1 }
      const reply = yield* ask(100 + at, { num_samples: count, prompt_logprobs: false, sampling_params: params })
      if (isRefused(reply)) {
        yield* Blame.expectRefused(reply)
        continue
      }
      const found = Examples.sequencesOf(reply.body).length
      yield* Check.expect(found === count, `a refusal, or ${count} samples`, found)
    }
  })
}

export const finished: Check.Check = {
  theme: "sessions",
  name: "a finished session refuses new models and samplers",
  why: "Models and samplers of an ended session would never be released.",
  run: Effect.gen(function*() {
    const { model: base_model, post, session } = yield* RawRequests
    const { id: session_id } = yield* session
    const { status } = yield* post(`/sessions/${session_id}/finish`, {})
    if (status === 404) return yield* Check.absent("sessions end only by a timeout")
    yield* Blame.expectRefused(yield* post("/create_model", Examples.adapter(session_id, base_model)))
    yield* Blame.expectRefused(
      yield* post("/create_sampling_session", {
        session_id,
        sampling_session_seq_id: 0,
        base_model,
        type: "create_sampling_session"
      })
    )
  })
}

export const failedTwice: Check.Check = {
  theme: "futures",
  name: "a failed result stays the same failure when it is requested again, and other requests are unaffected",
  why: "A client that asks again would wait forever, or take the failure for a success.",
  run: Effect.gen(function*() {
    const { post, result } = yield* RawRequests
    const made = yield* NumberedModel.make
    const promise = yield* made.send("/load_weights", { path, optimizer: true })
    const fine = yield* made.send("/forward", { forward_input: forPass.forward_backward_input })
    yield* Blame.expectRefused(promise)
    const [one, other] = [yield* result(promise), yield* result(promise)].map(({ body }) => JSON.stringify(body))
    yield* Check.expect(one === other, `${one} again`, other)
    yield* Blame.expectDone(fine)
    const ids = [promise, fine, yield* made.send("/forward", { forward_input: forPass.forward_backward_input })]
      .flatMap(({ body }) => body["request_id"] === undefined ? [] : [body["request_id"]])
    const again = yield* NumberedModel.make
    const foreign = yield* again.send("/forward", { forward_input: forPass.forward_backward_input })
    const all = [...ids, foreign.body["request_id"]]
    yield* Check.expect(new Set(all).size === all.length, "a request_id of each", all.join(", "))
    yield* post("/unload_model", { model_id: again.id, type: "unload_model" })
  })
}

export const all = [missing, wrongTypes, missingInputs, manyCandidates, finished, failedTwice]
