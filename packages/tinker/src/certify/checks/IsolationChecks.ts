/**
 * The state of a model and a sampler must survive everything else that a server is asked: ended sessions, failed requests, lists and chats.
 */
import * as Effect from "effect/Effect"
import * as Check from "../Check.ts"
import * as Dialect from "../Dialect.ts"
import * as Examples from "../Examples.ts"
import * as NumberedModel from "../NumberedModel.ts"
import { RawRequests } from "../RawRequests.ts"

const { textAt } = Dialect

const pass = (weight: number) => ({
  forward_backward_input: { data: [Examples.datum({ weights: [...Examples.full(weight)] })], loss_fn: "cross_entropy" }
})

const step = { adam_params: Examples.adam, type: "optim_step" }

const saveWeights = { path: "certify-aside", kind: "snapshot", type: "save_weights_for_sampler" }

/** Requests of other clients, and requests to the model besides its passes and steps. */
const disturb = Effect.fnUntraced(function*(model: NumberedModel.NumberedModel, saved: string) {
  const { get, model: base_model, post, result, session } = yield* RawRequests
  const other = yield* NumberedModel.make
  yield* other.learn([-3, 3, -3, 3, -3, 3, -3])
  yield* other.ask("/forward_backward", pass(-5))
  const path = textAt((yield* other.ask("/save_weights_for_sampler", saveWeights)).body, "path")
  yield* Effect.scoped(Effect.gen(function*() {
    const { id, model, sampler } = yield* session
    const brief = yield* NumberedModel.of(yield* model)
    yield* brief.learn()
    yield* Effect.flatMap(post("/asample", Examples.sample(yield* sampler, 1)), result)
    yield* post("/unload_model", { model_id: brief.id, type: "unload_model" })
    yield* post(`/sessions/${id}/finish`, {})
  }))
  for (const place of ["/training_runs", "/checkpoints", "/sessions", "/get_server_capabilities", "/healthz"]) {
    yield* get(place)
  }
  yield* get(`/training_runs/${model.id}`)
  yield* get(`/training_runs/${model.id}/checkpoints`)
  yield* post("/get_info", { model_id: model.id, type: "get_info" })
  yield* post("/weights_info", { tinker_path: saved })
  yield* post("/create_model", Examples.adapter("certify-nothing", base_model))
  yield* Effect.flatMap(
    model.send("/forward_backward", { forward_backward_input: { data: [], loss_fn: "none" } }),
    result
  )
  yield* Effect.flatMap(
    model.send("/load_weights", { path: `${saved}-nothing`, optimizer: true, type: "load_weights" }),
    result
  )
  yield* Effect.flatMap(model.send("/save_weights", { path: "../x", overwrite: true, type: "save_weights" }), result)
  yield* model.logprobs
  const messages = [{ role: "user", content: "What is 3 and 4?" }]
  yield* post(Dialect.chat.path, { model: path, messages, max_tokens: 2 })
  yield* post(Dialect.chat.path, { model: saved, messages, max_tokens: 2 })
  yield* post("/cancel_future", { request_id: "certify-nothing" })
})

/** A model's log-probabilities after a step, a pass, and a second step that has the first one's momentum. */
const trainedBeside = (
  aside: (model: NumberedModel.NumberedModel, saved: string) => Effect.Effect<void, Check.Failure, Check.Needs>
) =>
  Effect.gen(function*() {
    const { post, result, session } = yield* RawRequests
    const { id: session_id } = yield* session
    const model = yield* NumberedModel.make
    yield* model.learn([1, -1, 1, 1, -1, 1, 1])
    const saved = textAt((yield* model.ask("/save_weights_for_sampler", saveWeights)).body, "path")
    const create = { session_id, sampling_session_seq_id: 40, model_path: saved, type: "create_sampling_session" }
    const sampler = textAt((yield* post("/create_sampling_session", create)).body, "sampling_session_id")
    const scored = (seq_id: number) =>
      Effect.map(
        Effect.flatMap(post("/asample", Examples.sample(sampler, seq_id, Examples.scoring)), result),
        Examples.promptLogprobsOf
      )
    const before = yield* scored(1)
    yield* model.ask("/forward_backward", pass(0.5))
    yield* aside(model, saved)
    yield* model.ask("/forward_backward", pass(-1))
    yield* model.ask("/optim_step", step)
    return { before, after: yield* scored(2), trained: yield* model.logprobs }
  })

export const undisturbed: Check.Check = {
  theme: "training",
  name:
    "only a model's own passes and steps change its gradient, momentum and weights, and nothing changes its sampler",
  why: "Other programs train, fail and end beside a run, and no curve shows what they change in it.",
  run: Effect.gen(function*() {
    const expected = yield* trainedBeside(() => Effect.void)
    const found = yield* trainedBeside(disturb)
    const tolerance = 0.01 + 0.006 * Math.max(...expected.trained.map(Math.abs))
    yield* Check.expectClose("logprobs of the sampler", found.after, found.before, tolerance)
    yield* Check.expectClose("logprobs of the model", found.trained, expected.trained, tolerance)
  })
}

export const all = [undisturbed]
