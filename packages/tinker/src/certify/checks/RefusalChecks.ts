/** Refused requests must leave no effects behind. */
import * as Effect from "effect/Effect"
import { RestClient } from "../../client/RestClient.ts"
import * as Blame from "../Blame.ts"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import * as NumberedModel from "../NumberedModel.ts"
import { RawRequests } from "../RawRequests.ts"

/** Adam settings outside their ranges. */
const wrongSteps = [
  { beta1: 1 },
  { beta1: -0.1 },
  { beta2: 1 },
  { eps: -1e-8 },
  { weight_decay: -0.1 },
  { grad_clip_norm: -1 },
  { learning_rate: -0.1 }
]

export const steps: Check.Check = {
  theme: "limits",
  name: "a step with settings out of range is refused and changes nothing",
  why: "A clamped or ignored setting silently changes the training.",
  run: Effect.gen(function*() {
    const model = yield* NumberedModel.make
    yield* model.learn()
    const before = yield* model.logprobs
    yield* model.ask("/forward_backward", {
      forward_backward_input: { data: [Examples.datum()], loss_fn: "cross_entropy" }
    })
    for (const wrong of wrongSteps) {
      const params = { adam_params: { ...Examples.adam, ...wrong }, type: "optim_step" }
      yield* Blame.expectRefused(yield* model.send("/optim_step", params))
    }
    yield* Check.expectClose("logprobs after refused steps", yield* model.logprobs, before, 1e-3)
  })
}

export const saves: Check.Check = {
  theme: "checkpoints",
  name: "a refused save leaves no checkpoint, and a refused load leaves the weights unchanged",
  why: "A run that continues from a partial or missing checkpoint has silently lost its work.",
  run: Effect.gen(function*() {
    const rest = yield* RestClient
    const model = yield* NumberedModel.make
    yield* model.learn()
    const before = yield* model.logprobs
    const { body } = yield* model.ask("/save_weights", { path: "certify-good", overwrite: false, type: "save_weights" })
    const wrongs = [{ path: "../certify" }, { path: "" }, { path: "certify-ttl", ttl_seconds: -1 }, {
      path: "certify-ttl",
      ttl_seconds: 0
    }]
    for (const wrong of wrongs) {
      yield* Blame.expectRefused(
        yield* model.send("/save_weights", { overwrite: false, type: "save_weights", ...wrong })
      )
      yield* Blame.expectRefused(
        yield* model.send("/save_weights_for_sampler", { kind: "snapshot", type: "save_weights_for_sampler", ...wrong })
      )
    }
    const path = String(body["path"]).replace("certify-good", "certify-missing")
    yield* Blame.expectRefused(yield* model.send("/load_weights", { path, optimizer: true, type: "load_weights" }))
    yield* Check.expectClose("logprobs after a refused load", yield* model.logprobs, before, 1e-3)
    const { checkpoints } = yield* rest.listCheckpoints(model.id)
    const paths = checkpoints.map((one) => one.path)
    yield* Check.expect(paths.join() === body["path"], `the checkpoint ${body["path"]} alone`, paths.join(", "))
  })
}

/** Names with characters that are invalid in paths or file names. */
const oddNames = [
  "certify name",
  "certify/name",
  "certify:name",
  "certify%20name",
  "certify-näme",
  "certify?name",
  "certify\tname"
]

export const names: Check.Check = {
  theme: "checkpoints",
  name: "a checkpoint name with unusual characters is kept exactly or refused",
  why: "If characters are replaced, two names may become one, and clients cannot find their checkpoints.",
  run: Effect.gen(function*() {
    const { result } = yield* RawRequests
    const rest = yield* RestClient
    const model = yield* NumberedModel.make
    const taken: Array<string> = []
    for (const path of oddNames) {
      const saves = [
        yield* model.send("/save_weights", { path, overwrite: false, type: "save_weights" }),
        yield* model.send("/save_weights_for_sampler", { path, kind: "snapshot", type: "save_weights_for_sampler" })
      ]
      for (const save of saves) {
        const reply = yield* result(save)
        if (reply.status !== 200 || "error" in reply.body) {
          yield* Blame.expectRefused(reply)
          continue
        }
        const saved = String(reply.body["path"])
        yield* Check.expect(saved.endsWith(`/${path}`), `a refusal, or a path that ends with "${path}"`, saved)
        taken.push(saved)
      }
    }
    const { checkpoints } = yield* rest.listCheckpoints(model.id)
    const listed = checkpoints.map((one) => one.path).toSorted().join(", ")
    yield* Check.expect(listed === taken.toSorted().join(", "), `the checkpoints [${taken.join(", ")}]`, `[${listed}]`)
  })
}

export const places: Check.Check = {
  theme: "sessions",
  name: "refused models and samplers are not listed in their session",
  why: "What a refused request leaves behind uses memory without any client knowing.",
  run: Effect.gen(function*() {
    const { model: base_model, post, session } = yield* RawRequests
    const rest = yield* RestClient
    const { id: session_id, model, sampler } = yield* session
    const [good, goodSampler] = [yield* model, yield* sampler]
    for (const [at, lora] of [{ rank: 0 }, { rank: -8 }, { rank: 1_000_000 }].entries()) {
      const create = { ...Examples.adapter(session_id, base_model, lora), model_seq_id: 20 + at }
      yield* Blame.expectRefused(yield* post("/create_model", create))
    }
    const type = "create_sampling_session"
    for (
      const [at, source] of [{ base_model: "no-such-model" }, { model_path: "tinker://no-such-run/weights/a" }, {}]
        .entries()
    ) {
      const create = { session_id, sampling_session_seq_id: 20 + at, type, ...source }
      yield* Blame.expectRefused(yield* post("/create_sampling_session", create))
    }
    const { samplerIds, trainingRunIds } = yield* rest.getSession(session_id)
    yield* Check.expect(trainingRunIds.join() === good, `the model ${good} alone`, trainingRunIds.join(", "))
    yield* Check.expect(samplerIds.join() === goodSampler, `the sampler ${goodSampler} alone`, samplerIds.join(", "))
  })
}

export const ended: Check.Check = {
  theme: "sessions",
  name: "the end of a session ends its samplers, and its heartbeats are refused",
  why: "Weights of unreachable samplers fill the server's memory.",
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const { id: session_id, sampler } = yield* session
    const id = yield* sampler
    yield* Blame.expectDone(yield* post("/asample", Examples.sample(id, 1)))
    const finish = yield* post(`/sessions/${session_id}/finish`, {})
    if (finish.status === 404) return yield* Check.absent("sessions end only by a timeout")
    yield* Blame.expectRefused(yield* post("/asample", Examples.sample(id, 2)))
    yield* Blame.expectRefused(yield* post("/session_heartbeat", { session_id, type: "session_heartbeat" }))
  })
}

export const all = [steps, saves, names, places, ended]
