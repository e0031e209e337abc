/**
 * Saved states restore weights and optimizer in every way of loading them, and repeated requests for completed work
 * change nothing.
 */
import { Loss, Tinker } from "@effect-rl/core"
import type { TrainingClient } from "@effect-rl/core/backend"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { RestClient } from "../../client/RestClient.ts"
import * as Blame from "../Blame.ts"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import * as NumberedModel from "../NumberedModel.ts"
import { RawRequests } from "../RawRequests.ts"
import * as StateTwins from "../StateTwins.ts"

const toleranceOf = (logprobs: Float32Array) => 0.01 + 0.006 * Math.max(...logprobs.map(Math.abs))

const expectLogprobs = (what: string, found: ArrayLike<number>, expected: Float32Array) =>
  Check.expectClose(`logprobs ${what}`, found, expected, toleranceOf(expected))

const pass = (client: TrainingClient.TrainingClient, weight: number) =>
  StateTwins.run(client.forwardBackward([Examples.weighted(Examples.full(weight))], Loss.crossEntropy))

const step = (client: TrainingClient.TrainingClient) =>
  StateTwins.run(client.optimStep({ learningRate: Examples.learningRate }))

const learn = (client: TrainingClient.TrainingClient, weight: number) =>
  Effect.andThen(pass(client, weight), step(client))

/**
 * A trained model and its saved state, with the log-probabilities of the state and those after two more steps, the first of them without a
 * gradient.
 */
const trained = Effect.gen(function*() {
  const { model: baseModel } = yield* RawRequests
  const tinker = yield* Tinker.Tinker
  const client = yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 8, seed: 1 })
  for (const weight of [1, 1, -1]) yield* learn(client, weight)
  const logprobs = yield* StateTwins.logprobsOf(client)
  const { path } = yield* StateTwins.run(client.saveState("certify-resume"))
  yield* learn(client, 0)
  yield* learn(client, 1)
  return { tinker, client, path, logprobs, later: yield* StateTwins.logprobsOf(client) }
})

const why = "A resumed run must continue as if it had not stopped, however it is resumed."

export const ways: Check.Check = {
  theme: "checkpoints",
  name:
    "a model created from a state with its optimizer continues like the original, and without the optimizer it does not",
  why,
  run: Effect.gen(function*() {
    const { post, result, session } = yield* RawRequests
    const { later, logprobs, path, tinker } = yield* trained
    const client = yield* tinker.createTrainingClientFromState(path)
    yield* expectLogprobs("of the state", yield* StateTwins.logprobsOf(client), logprobs)
    yield* learn(client, 0)
    yield* learn(client, 1)
    yield* expectLogprobs("two steps after the state", yield* StateTwins.logprobsOf(client), later)
    const { id: session_id } = yield* session
    const made = (model_seq_id: number, optimizer: boolean) =>
      Effect.flatMap(post("/load_weights", { session_id, model_seq_id, path, optimizer, type: "load_weights" }), result)
    const after = Effect.fnUntraced(function*(model_id: unknown) {
      const model = yield* NumberedModel.of(String(model_id))
      yield* expectLogprobs("of the state", yield* model.logprobs, logprobs)
      yield* model.learn([...Examples.full(0)])
      yield* model.learn()
      return yield* model.logprobs
    })
    const whole = yield* made(21, true)
    if (whole.body["model_id"] === undefined || whole.body["model_id"] === null) {
      return "the server does not create models from states"
    }
    yield* expectLogprobs("two steps after a model with the optimizer", yield* after(whole.body["model_id"]), later)
    const bare = yield* after((yield* made(22, false)).body["model_id"])
    yield* Check.expect(
      Check.distance(bare, later) > toleranceOf(later),
      "other log-probabilities two steps after a model without the optimizer",
      "the same"
    )
  })
}

export const resaved: Check.Check = {
  theme: "checkpoints",
  name: "loading a state and saving it again preserves weights and optimizer",
  why,
  run: Effect.gen(function*() {
    const { later, path, tinker } = yield* trained
    const made = yield* tinker.createTrainingClientFromState(path)
    const again = yield* StateTwins.run(made.saveState("certify-again"))
    yield* learn(made, -1)
    yield* StateTwins.run(made.loadState(again.path, { optimizer: true }))
    yield* learn(made, 0)
    yield* learn(made, 1)
    yield* expectLogprobs("two steps after the state that was saved again", yield* StateTwins.logprobsOf(made), later)
  })
}

export const orphans: Check.Check = {
  theme: "checkpoints",
  name: "a model continues after the state it was created from is deleted",
  why: "Retention deletes old checkpoints while runs that started from them are still training.",
  run: Effect.gen(function*() {
    const { logprobs, path, tinker } = yield* trained
    const rest = yield* RestClient
    const made = yield* tinker.createTrainingClientFromState(path)
    yield* rest.deleteCheckpoint(path)
    yield* expectLogprobs("of the model", yield* StateTwins.logprobsOf(made), logprobs)
    yield* learn(made, 1)
    const { path: next } = yield* StateTwins.run(made.saveState("certify-orphan"))
    const expected = yield* StateTwins.logprobsOf(made)
    const back = yield* tinker.createTrainingClientFromState(next)
    yield* expectLogprobs("of its own state", yield* StateTwins.logprobsOf(back), expected)
  })
}

export const otherRank: Check.Check = {
  theme: "checkpoints",
  name: "a state loaded into a model of another rank is refused or loaded completely",
  why: "A partly loaded adapter is a model that was never trained.",
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const { logprobs, path, tinker } = yield* trained
    for (const loraRank of [4, 16]) {
      const other = yield* tinker.createLoraTrainingClient({ baseModel, loraRank })
      const before = yield* StateTwins.logprobsOf(other)
      const loaded = yield* Effect.result(Effect.flatMap(other.loadState(path), (pending) => pending.await))
      const found = yield* Effect.result(StateTwins.logprobsOf(other))
      // A client may be unusable after a failed request.
      if (Result.isFailure(found)) continue
      yield* expectLogprobs(
        Result.isSuccess(loaded) ? "of the state" : "of before",
        found.success,
        Result.isSuccess(loaded) ? logprobs : before
      )
    }
  })
}

export const copies: Check.Check = {
  theme: "archive",
  name: "a copy of a state has its optimizer and the requested lifetime",
  why: "Users keep a run's best state this way and continue from it.",
  run: Effect.gen(function*() {
    const { get, post, session } = yield* RawRequests
    const rest = yield* RestClient
    const { later, path, tinker } = yield* trained
    const { id: session_id } = yield* session
    const copy = (model_seq_id: number, more: object) =>
      post("/copy_weights", { source_path: path, session_id, model_seq_id, ...more })
    const { body, status } = yield* copy(11, { ttl_seconds: 7200 })
    const copied = body["tinker_path"]
    if (status !== 200 || typeof copied !== "string") return yield* Check.absent("weights are not copied into sessions")
    const made = yield* tinker.createTrainingClientFromState(copied)
    yield* learn(made, 0)
    yield* learn(made, 1)
    yield* expectLogprobs("two steps after the copy", yield* StateTwins.logprobsOf(made), later)
    const now = yield* Clock.currentTimeMillis
    const run = copied.split("/").slice(0, -2).join("/").replace("tinker://", "")
    const listed = yield* get(`/training_runs/${run}/checkpoints`)
    const text = JSON.stringify(listed.body["checkpoints"])
    const expires = /"expires_at":"([^"]+)"/.exec(text)?.[1] ?? ""
    const left = (Date.parse(expires) - now) / 3_600_000
    yield* Check.expect(Math.abs(left - 2) < 0.5, "expires_at in 2 hours", text)
    yield* rest.deleteCheckpoint(copied)
  })
}

export const repeats: Check.Check = {
  theme: "repeats",
  name: "repeating a finished load, pass or step late and in any order changes nothing",
  why: "Answers may get lost after minutes, and carrying out the request again would undo the work since.",
  run: Effect.gen(function*() {
    const { post } = yield* RawRequests
    const model = yield* NumberedModel.make
    const forPass = { forward_backward_input: { data: [Examples.datum()], loss_fn: "cross_entropy" } }
    const adam = { adam_params: Examples.adam, type: "optim_step" }
    const saved = yield* model.ask("/save_weights", { path: "certify-late", overwrite: false, type: "save_weights" })
    const load = { path: saved.body["path"], optimizer: false, type: "load_weights" }
    yield* model.ask("/forward_backward", forPass)
    yield* model.ask("/optim_step", adam)
    yield* model.ask("/load_weights", load)
    yield* model.ask("/forward_backward", forPass)
    yield* model.ask("/optim_step", adam)
    const expected = yield* model.logprobs
    for (let number = 0; number < 20; number++) yield* model.logprobs
    const again = (seq_id: number, path: string, body: object) =>
      Effect.flatMap(post(path, { model_id: model.id, seq_id, ...body }), Blame.expectDone)
    yield* again(4, "/load_weights", load)
    yield* again(6, "/optim_step", adam)
    yield* again(3, "/optim_step", adam)
    yield* again(5, "/forward_backward", forPass)
    yield* again(2, "/forward_backward", forPass)
    yield* expectLogprobs("after repeated requests", yield* model.logprobs, expected)
    const zero = { ...Examples.adam, beta1: 0, beta2: 0, eps: 1 }
    yield* model.ask("/forward_backward", {
      forward_backward_input: { data: [Examples.datum({ weights: [...Examples.full(0)] })], loss_fn: "cross_entropy" }
    })
    yield* model.ask("/optim_step", { adam_params: zero, type: "optim_step" })
    yield* expectLogprobs("after a step without a gradient", yield* model.logprobs, expected)
  })
}

export const lateSamples: Check.Check = {
  theme: "repeats",
  name: "a sampling request repeated after many others returns its first samples",
  why: "Samples that are drawn twice are billed twice, and one copy is never recorded.",
  run: Effect.gen(function*() {
    const { post, result, session } = yield* RawRequests
    const { sampler } = yield* session
    const id = yield* sampler
    const send = (seq_id: number) =>
      post("/asample", Examples.sample(id, seq_id, { sampling_params: { ...Examples.sampling, temperature: 1.5 } }))
    const first = yield* Effect.flatMap(send(1), result)
    for (let number = 2; number < 40; number++) yield* Effect.flatMap(send(number), result)
    const again = yield* Effect.flatMap(send(1), result)
    const [one, other] = [first, again].map(({ body }) => JSON.stringify(Examples.sequencesOf(body)))
    yield* Check.expect(one === other, `${one} again`, other)
  })
}

export const all = [ways, resaved, orphans, otherRank, copies, repeats, lateSamples]
