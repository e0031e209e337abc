/** Ownership of models, samplers and checkpoints if several owners use the same numbers and names. */
import * as Effect from "effect/Effect"
import * as Blame from "../Blame.ts"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import * as NumberedModel from "../NumberedModel.ts"
import { RawRequests, type Reply } from "../RawRequests.ts"

/** A model, its session, and the sequence number of its first sampler. */
interface Owner {
  readonly session: string
  readonly model: NumberedModel.NumberedModel
  readonly number: number
}

const toleranceOf = (logprobs: Float32Array) => 0.01 + 0.006 * Math.max(...logprobs.map(Math.abs))

/** The log-probabilities of the examples from a sampling session. */
const scored = Effect.fnUntraced(function*(sampler: unknown, seq_id: number) {
  const { post } = yield* RawRequests
  const found = yield* Effect.flatMap(
    post("/asample", Examples.sample(String(sampler), seq_id, Examples.scoring)),
    Blame.expectDone
  )
  return Examples.promptLogprobsOf(found)
})

/** Token weights of steps with distinct effects. */
const directions = [[1, 1, 1, 1, 1, 1, 1], [-1, 1, -1, 1, -1, 1, -1]]

const expectOwn = (what: string, found: ReadonlyArray<unknown>) =>
  Check.expect(new Set(found).size === found.length, `${found.length} ${what}`, found.join(", "))

const isRefused = ({ body, status }: Reply) => status !== 200 || "error" in body

/**
 * Sends the same requests for each owner, under the same numbers and names, and expects each owner to get its own
 * objects and weights.
 */
const compare = Effect.fnUntraced(function*(owners: ReadonlyArray<Owner>) {
  const { post, result } = yield* RawRequests
  const each = <A, E, R>(f: (owner: Owner, at: number) => Effect.Effect<A, E, R>) => Effect.forEach(owners, f)
  yield* each(({ model }, at) => model.learn(directions[at]))
  const trained = yield* each(({ model }) => model.logprobs)
  const [one = new Float32Array(), other = new Float32Array()] = trained
  yield* Check.expect(Check.distance(one, other) > 2 * toleranceOf(one), "steps of each model alone", "of both")
  const name = { path: "certify-same" }
  const states = yield* each(({ model }) =>
    model.ask("/save_weights", { ...name, overwrite: false, type: "save_weights" })
  )
  const save = { kind: "snapshot", type: "save_weights_for_sampler" }
  const weights = yield* each(({ model }) => model.ask("/save_weights_for_sampler", { ...name, ...save }))
  const snapshots = yield* each(({ model, number }) =>
    model.ask("/save_weights_for_sampler", { sampling_session_seq_id: number, ...save })
  )
  const saved = yield* each(({ number, session: session_id }, at) =>
    post("/create_sampling_session", {
      session_id,
      sampling_session_seq_id: number + 1,
      model_path: weights[at]?.body["path"],
      type: "create_sampling_session"
    })
  )
  yield* expectOwn("states", states.map(({ body }) => body["path"]))
  yield* expectOwn("weights", weights.map(({ body }) => body["path"]))
  const samplers = [snapshots, saved].map((all) => all.map(({ body }) => body["sampling_session_id"]))
  yield* expectOwn("samplers", samplers.flat())
  for (const of of samplers) {
    for (const [at, logprobs] of [...trained.entries()].toReversed()) {
      const what = `logprobs of the sampler of model ${at}`
      yield* Check.expectClose(what, yield* scored(of[at], 1), logprobs, toleranceOf(logprobs))
    }
  }
  for (const [at, { model }] of owners.entries()) {
    const path = states[1 - at]?.body["path"]
    const load = yield* model.send("/load_weights", { path, optimizer: false, type: "load_weights" })
    if (isRefused(yield* result(load))) return
    const expected = trained[1 - at] ?? new Float32Array()
    const what = `logprobs of model ${at} with the state of the other`
    yield* Check.expectClose(what, yield* model.logprobs, expected, toleranceOf(expected))
  }
})

const why =
  "Every client numbers from 1 and uses the same checkpoint names, so programs would get each other's weights."

export const ofSessions: Check.Check = {
  theme: "sessions",
  name: "sessions that use the same numbers and names get their own models, samplers and checkpoints",
  why,
  run: Effect.gen(function*() {
    const { session } = yield* RawRequests
    const owners = yield* Effect.forEach([1, 2], () =>
      Effect.gen(function*() {
        const { id, model } = yield* session
        return { session: id, model: yield* NumberedModel.of(yield* model), number: 1 }
      }))
    yield* compare(owners)
  })
}

export const ofModels: Check.Check = {
  theme: "sessions",
  name: "two models of a session that use the same numbers and names get their own samplers and checkpoints",
  why,
  run: Effect.gen(function*() {
    const { session } = yield* RawRequests
    const { id, model } = yield* session
    const owners = yield* Effect.forEach([1, 3], (number) =>
      Effect.gen(function*() {
        return { session: id, model: yield* NumberedModel.of(yield* model), number }
      }))
    yield* compare(owners)
  })
}

export const reused: Check.Check = {
  theme: "repeats",
  name: "a sampling session or model number that was already used is refused, or gets what the new request asks for",
  why: "A client that reuses a number by mistake would otherwise sample from the wrong weights.",
  run: Effect.gen(function*() {
    const { model: base_model, post, result, session } = yield* RawRequests
    const { id: session_id } = yield* session
    const model = yield* NumberedModel.make
    yield* model.learn()
    const logprobs = yield* model.logprobs
    const save = { path: "certify-number", kind: "snapshot", type: "save_weights_for_sampler" }
    const { body: { path: model_path } } = yield* model.ask("/save_weights_for_sampler", save)
    const create = { session_id, sampling_session_seq_id: 4, type: "create_sampling_session" }
    yield* post("/create_sampling_session", { ...create, base_model })
    const again = yield* result(yield* post("/create_sampling_session", { ...create, model_path }))
    if (isRefused(again)) yield* Blame.expectRefused(again)
    else {
      const found = yield* scored(again.body["sampling_session_id"], 1)
      yield* Check.expectClose("logprobs of the requested weights", found, logprobs, toleranceOf(logprobs))
    }
    yield* Blame.expectDone(yield* post("/create_model", Examples.adapter(session_id, base_model)))
    const other = yield* result(yield* post("/create_model", Examples.adapter(session_id, base_model, { rank: 4 })))
    if (isRefused(other)) return yield* Blame.expectRefused(other)
    const { body } = yield* post("/get_info", { model_id: other.body["model_id"], type: "get_info" })
    yield* Check.expect(body["lora_rank"] === 4, "a refusal, or a model of rank 4", body["lora_rank"])
  })
}

export const keys: Check.Check = {
  theme: "sessions",
  name: "requests with different idempotency keys, or without one, create different sessions",
  why: "Programs that share a session end each other's models.",
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const { id } = yield* session
    const made = yield* Effect.forEach(
      [{ "x-idempotency-key": `certify-1-${id}` }, { "x-idempotency-key": `certify-2-${id}` }, {}, {}],
      (headers) => Effect.map(post("/create_session", Examples.session, headers), ({ body }) => body["session_id"])
    )
    yield* Effect.forEach(made, (one) => post(`/sessions/${one}/finish`, {}), { discard: true })
    yield* expectOwn("sessions", made)
  })
}

export const named: Check.Check = {
  theme: "sampling",
  name: "a sampling request that names its weights gets those weights",
  why: "Tools without a session sample this way, and would evaluate the base model instead of the trained one.",
  run: Effect.gen(function*() {
    const { model: base_model, post, result } = yield* RawRequests
    const model = yield* NumberedModel.make
    const untrained = yield* model.logprobs
    yield* model.learn()
    const trained = yield* model.logprobs
    const save = { path: "certify-named", kind: "snapshot", type: "save_weights_for_sampler" }
    const { body: { path: model_path } } = yield* model.ask("/save_weights_for_sampler", save)
    const { sampling_session_id: _, seq_id: __, ...request } = Examples.sample("", 0, Examples.scoring)
    const ask = (source: object) => Effect.flatMap(post("/asample", { ...request, ...source }), result)
    const first = yield* ask({ model_path })
    if (isRefused(first)) return yield* Check.absent("sampling requests need a sampling session")
    for (
      const [what, found, expected] of [
        ["the trained weights", first, trained],
        ["the base model", yield* ask({ base_model }), untrained],
        ["the trained weights again", yield* ask({ model_path }), trained]
      ] as const
    ) {
      const logprobs = Examples.promptLogprobsOf(found)
      yield* Check.expectClose(`logprobs of ${what}`, logprobs, expected, toleranceOf(expected))
    }
  })
}

export const joined: Check.Check = {
  theme: "sessions",
  name: "every process that joins a sampling session gets its own number",
  why: "Processes with the same number would number their requests alike and get each other's samples.",
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const { sampler } = yield* session
    const join = post("/join_sampling_session", { sampling_session_id: yield* sampler, type: "join_sampling_session" })
    const first = yield* join
    if (first.status === 404 || first.status === 405) return yield* Check.absent("sampling sessions cannot be joined")
    const replies = [first, yield* join, yield* join]
    yield* expectOwn("numbers of processes", replies.map(({ body }) => body["client_counter"]))
  })
}

export const all = [ofSessions, ofModels, reused, keys, named, joined]
