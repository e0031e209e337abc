import * as Effect from "effect/Effect"
import { sdk_version } from "../../client/ClientConfig.ts"
import * as Blame from "../Blame.ts"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import { RawRequests } from "../RawRequests.ts"

const moved = 1e-4

export const byNumber: Check.Check = {
  theme: "order",
  name: "requests of a model run by their numbers, whichever arrives first",
  why: "Clients send the parts of a batch over several connections: a step that overtakes its pass trains on nothing.",
  run: Effect.gen(function*() {
    const { post, result, session } = yield* RawRequests
    const config = yield* post("/client/config", { sdk_version })
    if (config.body["parallel_fwdbwd_chunks"] !== true) {
      return yield* Check.absent("the server asks its clients to send one request after the other")
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
      "the log-probabilities of before"
    )
  })
}

export const inTurn: Check.Check = {
  theme: "order",
  name: "requests of a model that are sent at once run one after the other",
  why: "Clients send a pass, its step and the next pass without waiting for any of them.",
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
      "the log-probabilities of before"
    )
  })
}

export const refusedFirst: Check.Check = {
  theme: "order",
  name: "a request that is refused does not hold up those after it",
  why: "One wrong request would otherwise stop a run until its deadline.",
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
