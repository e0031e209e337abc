/** The meaning of requests that omit a field. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Blame from "../Blame.ts"
import * as Check from "../Check.ts"
import * as Draws from "../Draws.ts"
import * as Examples from "../Examples.ts"
import * as NumberedModel from "../NumberedModel.ts"
import { RawRequests } from "../RawRequests.ts"

const why =
  "Clients omit fields to get the defaults. If defaults differ between servers, the client's code does not show it."

/** Samples with only the required fields and those in `more` and `params`. */
const bare = Effect.fnUntraced(function*(sampler: string, seq_id: number, more: object = {}, params: object = {}) {
  const { post } = yield* RawRequests
  return yield* Effect.flatMap(
    post("/asample", {
      sampling_session_id: sampler,
      seq_id,
      prompt: Examples.prompt(),
      sampling_params: { max_tokens: 1, ...params },
      ...more
    }),
    Blame.expectDone
  )
})

export const sampling: Check.Check = {
  theme: "sampling",
  name: "a request without temperature, top_k and top_p draws one sample from the model's own distribution",
  why,
  run: Effect.gen(function*() {
    const { session } = yield* RawRequests
    const { sampler } = yield* session
    const id = yield* sampler
    const { body } = yield* bare(id, 0)
    yield* Check.expect(Examples.sequencesOf(body).length === 1, "1 sample", Examples.sequencesOf(body).length)
    const scores = body["prompt_logprobs"] ?? undefined
    yield* Check.expect(scores === undefined, "no prompt_logprobs unless requested", JSON.stringify(scores))
    const draws = (from: number, params: object) =>
      Effect.map(
        Effect.forEach(Arr.range(from, from + 7), (number) => bare(id, number, { num_samples: 64 }, params)),
        (replies) =>
          replies.flatMap(({ body }) => Examples.sequencesOf(body)).flatMap(
            ({ logprobs: [logprob], tokens: [token] }): ReadonlyArray<Draws.Draw> =>
              token === undefined || logprob === undefined ? [] : [{ token, logprob }]
          )
      )
    const pool = Draws.distinct(yield* draws(1, { temperature: 1, top_k: -1, top_p: 1 }))
    if (pool.length < 2) return yield* Check.absent("the next token is certain")
    const found = yield* draws(11, {})
    const outside = found.filter(({ token }) => pool.every((one) => one.token !== token)).length
    yield* Check.expect(outside < found.length / 4, "tokens that temperature 1 draws", `${outside} others`)
    yield* Draws.expectDistributions("tokens", [Draws.counted(pool, found, Math.exp)])
  })
}

/** The log-probabilities of the examples after a new adapter's first step. */
const stepped = (lora_config: object) =>
  Effect.gen(function*() {
    const { model: base_model, post, session } = yield* RawRequests
    const { id: session_id } = yield* session
    const request = Examples.adapter(session_id, base_model)
    const { body } = yield* Effect.flatMap(post("/create_model", { ...request, lora_config }), Blame.expectDone)
    const model = yield* NumberedModel.of(String(body["model_id"]))
    yield* model.learn()
    return yield* model.logprobs
  })

export const adapters: Check.Check = {
  theme: "adapters",
  name: "an adapter request without layer options trains all layers",
  why,
  run: Effect.gen(function*() {
    const all = { train_mlp: true, train_attn: true, train_unembed: true }
    const usual = yield* stepped({ rank: 8, seed: 1 })
    yield* Check.expectClose("logprobs after a step", usual, yield* stepped({ rank: 8, seed: 1, ...all }), 0.02)
    for (const part of ["train_mlp", "train_attn", "train_unembed"]) {
      const found = yield* Effect.catchTag(
        stepped({ rank: 8, seed: 1, [part]: true }),
        "Mismatch",
        () => Effect.succeed(usual)
      )
      yield* Check.expectClose(`logprobs after a step with ${part} named alone`, found, usual, 0.02)
    }
  })
}

/**
 * Adam settings that forget squared gradients at once (`beta2` is 0). A step without a gradient after a step with one
 * then moves each weight by learning rate × mean ÷ `eps`, with a small `eps`.
 */
const tiny = { beta1: 0.9, beta2: 0, eps: 1e-3, weight_decay: 0, grad_clip_norm: 0 }

const usualRate = 1e-4

export const learningRate: Check.Check = {
  theme: "optimizer",
  name: "a step without a learning rate uses 1e-4",
  why,
  run: Effect.gen(function*() {
    const pass = (weight: number) => ({
      forward_backward_input: {
        data: [Examples.datum({ weights: Examples.targetTokens.length === 0 ? [] : [...Examples.full(weight)] })],
        loss_fn: "cross_entropy"
      }
    })
    const moved = Effect.fnUntraced(function*(params: object) {
      const { model: base_model, post, session } = yield* RawRequests
      const { id: session_id } = yield* session
      const made = yield* Effect.flatMap(
        post("/create_model", Examples.adapter(session_id, base_model, { seed: 1 })),
        Blame.expectDone
      )
      const model = yield* NumberedModel.of(String(made.body["model_id"]))
      const before = yield* model.logprobs
      for (const weight of [1, 0]) {
        yield* model.ask("/forward_backward", pass(weight))
        yield* model.ask("/optim_step", { adam_params: { ...tiny, ...params }, type: "optim_step" })
      }
      return (yield* model.logprobs).map((value, t) => value - (before[t] ?? NaN))
    })
    const expected = yield* moved({ learning_rate: usualRate })
    const largest = Math.max(...expected.map(Math.abs))
    if (!(largest > 0.01)) return yield* Check.absent("two steps of 1e-4 do not change the model visibly")
    const found = yield* moved({})
    yield* Check.expectClose("the change by two steps", found, expected, 0.1 * largest + 1e-4)
  })
}

export const saves: Check.Check = {
  theme: "checkpoints",
  name: "saving does not overwrite by default, and loading does not restore the optimizer by default",
  why,
  run: Effect.gen(function*() {
    const model = yield* NumberedModel.make
    yield* model.learn()
    const first = yield* model.logprobs
    const saved = yield* model.ask("/save_weights", { path: "certify-usual" })
    const path = String(saved.body["path"])
    yield* model.learn()
    yield* Blame.expectRefused(yield* model.send("/save_weights", { path: "certify-usual" }))
    yield* model.ask("/load_weights", { path })
    const tolerance = 0.01 + 0.006 * Math.max(...first.map(Math.abs))
    yield* Check.expectClose("logprobs of the state", yield* model.logprobs, first, tolerance)
    const zero = Examples.datum({ weights: [...Examples.full(0)] })
    yield* model.ask("/forward_backward", { forward_backward_input: { data: [zero], loss_fn: "cross_entropy" } })
    yield* model.ask("/optim_step", { adam_params: Examples.adam, type: "optim_step" })
    yield* Check.expectClose("logprobs after a step without a gradient", yield* model.logprobs, first, tolerance)
  })
}

export const all = [sampling, adapters, learningRate, saves]
