import * as Effect from "effect/Effect"
import { sdk_version } from "../../client/ClientConfig.ts"
import * as Blame from "../Blame.ts"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import { RawRequests } from "../RawRequests.ts"

const moved = 1e-4

export const byNumber: Check.Check = {
  theme: "order",
  name: "a model's requests run in the order of their numbers, not of arrival",
  why: "Clients use several connections, and a step that overtakes its pass trains on nothing.",
  run: Effect.gen(function*() {
    const { post, result, session } = yield* RawRequests
    const config = yield* post("/client/config", { sdk_version })
    if (config.body["parallel_fwdbwd_chunks"] !== true) {
      return yield* Check.absent("the server's config tells clients to send requests one after another")
    }
    const { model } = yield* session
    const model_id = yield* model
    const after = yield* post("/forward", Examples.forward(model_id, 3))
    const step = yield* post("/optim_step", Examples.step(model_id, 2))
    const pass = yield* post("/forward_backward", Examples.pass(model_id, 1))
    yield* Blame.expectDone(step)
    const untrained = yield* Examples.logprobsOf(yield* result(pass))
    const trained = yield* Examples.logprobsOf(yield* result(after))
    yield* Check.expect(
      Check.distance(untrained, trained) > moved,
      "request 3 to see what requests 1 and 2 trained",
      "the same log-probabilities as before"
    )
  })
}

export const inTurn: Check.Check = {
  theme: "order",
  name: "a model's concurrent requests run one after another",
  why: "Clients submit a pass, its step and the next pass without waiting.",
  run: Effect.gen(function*() {
    const { post, result, session } = yield* RawRequests
    const { model } = yield* session
    const model_id = yield* model
    const before = yield* post("/forward", Examples.forward(model_id, 1))
    const pass = yield* post("/forward_backward", Examples.pass(model_id, 2))
    yield* post("/optim_step", Examples.step(model_id, 3))
    const after = yield* post("/forward", Examples.forward(model_id, 4))
    const [first, second, last] = yield* Effect.forEach(
      [before, pass, after],
      (promise) => Effect.flatMap(result(promise), Examples.logprobsOf)
    )
    yield* Check.expectClose("logprobs of the pass", second ?? [], first ?? [], moved)
    yield* Check.expect(
      Check.distance(first ?? [], last ?? []) > moved,
      "the last pass to see the step before it",
      "the same log-probabilities as before"
    )
  })
}

export const refusedFirst: Check.Check = {
  theme: "order",
  name: "a refused request does not block the requests after it",
  why: "Otherwise one invalid request would stall a run until its deadline.",
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const { model } = yield* session
    const model_id = yield* model
    yield* Blame.expectRefused(
      yield* post("/optim_step", Examples.step(model_id, 1, { learning_rate: "fast" }))
    )
    yield* Blame.expectDone(yield* post("/forward", Examples.forward(model_id, 2)))
  })
}

export const all = [byNumber, inTurn, refusedFirst]
