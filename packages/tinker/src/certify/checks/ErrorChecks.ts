import * as Effect from "effect/Effect"
import * as Blame from "../Blame.ts"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import { RawRequests } from "../RawRequests.ts"

const why = "Clients resend a request for minutes after a server error, so an invalid request would look like a hang."

export const unknownModel: Check.Check = {
  theme: "errors",
  name: "a base model that is not served is a client error",
  why,
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const { id: session_id } = yield* session
    yield* Blame.expectRefused(yield* post("/create_model", Examples.adapter(session_id, "no-such-model")))
  })
}

export const unknownId: Check.Check = {
  theme: "errors",
  name: "an unknown model id is a 404",
  why,
  run: Effect.gen(function*() {
    const { post } = yield* RawRequests
    yield* Blame.expectStatus(yield* post("/get_info", { model_id: "no-such-model", type: "get_info" }), 404)
  })
}

export const unknownSampler: Check.Check = {
  theme: "errors",
  name: "an unknown sampling session is a client error",
  why,
  run: Effect.gen(function*() {
    const { post } = yield* RawRequests
    yield* Blame.expectRefused(yield* post("/asample", Examples.sample("no-such-session", 1)))
  })
}

export const unknownLoss: Check.Check = {
  theme: "errors",
  name: "a loss that the server does not have is a client error",
  why,
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const { model } = yield* session
    const pass = Examples.pass(yield* model, 1, [Examples.datum()], "no_such_loss")
    yield* Blame.expectRefused(yield* post("/forward_backward", pass))
  })
}

export const missingField: Check.Check = {
  theme: "errors",
  name: "a request without a required field is a client error",
  why,
  run: Effect.gen(function*() {
    const { post } = yield* RawRequests
    yield* Blame.expectRefused(yield* post("/create_model", { lora_config: { rank: 8 }, type: "create_model" }))
  })
}

export const shape: Check.Check = {
  theme: "errors",
  name: "a tensor that does not fill its shape is a client error",
  why: "A server that fills in missing values trains on numbers that no client sent.",
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const { model } = yield* session
    const { loss_fn_inputs, model_input } = Examples.datum()
    const short = { ...loss_fn_inputs, weights: { ...loss_fn_inputs.weights, data: [1, 1, 1] } }
    const pass = Examples.pass(yield* model, 1, [{ model_input, loss_fn_inputs: short }])
    yield* Blame.expectRefused(yield* post("/forward_backward", pass))
  })
}

export const goesOn: Check.Check = {
  theme: "errors",
  name: "a model continues after a refused pass, without that pass's gradient",
  why: "A run skips the refused batch and continues. A gradient of half the batch would bias its next step.",
  run: Effect.gen(function*() {
    const { post, result, session } = yield* RawRequests
    const { model } = yield* session
    const model_id = yield* model
    const wrong = Examples.datum({ targets: [1, 2, 3] })
    yield* Blame.expectRefused(yield* post("/forward_backward", Examples.pass(model_id, 1, [Examples.datum(), wrong])))
    const forward = (sequence: number) =>
      Effect.flatMap(
        Effect.flatMap(post("/forward", Examples.forward(model_id, sequence)), Blame.expectDone),
        (body) => Examples.logprobsOf(body)
      )
    const before = yield* forward(2)
    yield* Effect.flatMap(post("/optim_step", Examples.step(model_id, 3)), result)
    yield* Check.expectClose("logprobs after a step", yield* forward(4), before, 1e-3)
  })
}

export const all = [unknownModel, unknownId, unknownSampler, unknownLoss, missingField, shape, goesOn]
