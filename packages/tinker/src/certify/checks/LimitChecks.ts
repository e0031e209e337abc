import * as Json from "@effect-rl/agent/wire/Json"
import * as Effect from "effect/Effect"
import { ServerCapabilities } from "../../wire/Service.ts"
import * as Blame from "../Blame.ts"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import { RawRequests } from "../RawRequests.ts"

const notStated = Check.absent("the server does not state max_context_length")

/** The context length in tokens that the server reports. */
const contextLength = Effect.gen(function*() {
  const { get, model } = yield* RawRequests
  const { body } = yield* get("/get_server_capabilities")
  const { supported_models } = yield* Json.decode(ServerCapabilities)(body)
  return supported_models.find(({ model_name }) => model_name === model)?.max_context_length ?? (yield* notStated)
})

type Fields<A> = Effect.Effect<A, Check.Failure, RawRequests>

/** A check that a sampling request is refused if it differs from the example in these fields. */
const refusesSample = (name: string, why: string, more: Fields<object>): Check.Check => ({
  theme: "limits",
  name,
  why,
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const { sampler } = yield* session
    yield* Blame.expectRefused(yield* post("/asample", Examples.sample(yield* sampler, 1, yield* more)))
  })
})

/** A check that a pass over these data is refused. */
const refusesPass = (name: string, why: string, data: Fields<ReadonlyArray<object>>): Check.Check => ({
  theme: "limits",
  name,
  why,
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const { model } = yield* session
    yield* Blame.expectRefused(yield* post("/forward_backward", Examples.pass(yield* model, 1, yield* data)))
  })
})

const refusesRank = (name: string, rank: number): Check.Check => ({
  theme: "limits",
  name,
  why: "An adapter with the wrong rank has a different capacity, and its checkpoints do not load elsewhere.",
  run: Effect.gen(function*() {
    const { model: base_model, post, session } = yield* RawRequests
    const { id: session_id } = yield* session
    yield* Blame.expectRefused(
      yield* post("/create_model", Examples.adapter(session_id, base_model, { rank }))
    )
  })
})

const long = (length: number) => Array.from({ length }, () => 3)

/** A token id beyond every model's vocabulary. */
const beyond = 2 ** 31 - 2

export const promptLength = refusesSample(
  "a prompt longer than the context is refused",
  "A silently truncated prompt is answered, and the reward is for a different question.",
  Effect.map(contextLength, (contextLength) => ({ prompt: Examples.prompt(long(contextLength + 1)) }))
)

export const maxTokens = refusesSample(
  "a prompt and max_tokens that exceed the context are refused",
  "Samples that end too early count as truncated.",
  Effect.map(
    contextLength,
    (contextLength) => ({ sampling_params: { ...Examples.sampling, max_tokens: contextLength } })
  )
)

export const contextFills: Check.Check = {
  theme: "limits",
  name: "a prompt and max_tokens that exactly fill the stated context are accepted",
  why:
    "Runs are planned with the stated context. If the real one is shorter, the longest rollouts fail late in the run.",
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const length = yield* contextLength
    const { sampler } = yield* session
    const request = {
      prompt: Examples.prompt(long(length - 2)),
      sampling_params: { ...Examples.sampling, max_tokens: 2 }
    }
    yield* Blame.expectDone(yield* post("/asample", Examples.sample(yield* sampler, 1, request)))
  })
}

export const passFills: Check.Check = {
  theme: "limits",
  name: "a datum that fills the stated context is trained on",
  why: "A rollout that can be sampled but not trained on fails the run.",
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const length = yield* contextLength
    const { model } = yield* session
    const datum = Examples.datum({ tokens: long(length - 1), targets: long(length - 1) })
    yield* Blame.expectDone(yield* post("/forward", Examples.forward(yield* model, 1, [datum])))
  })
}

export const promptToken = refusesSample(
  "a prompt with a token id outside of the vocabulary is refused",
  "The client has the wrong tokenizer, and would not notice otherwise.",
  Effect.succeed({ prompt: Examples.prompt([1, beyond]) })
)

export const noSamples = refusesSample(
  "a request for no samples is refused",
  "The request is a mistake that an empty answer would hide.",
  Effect.succeed({ num_samples: 0 })
)

export const manySamples = refusesSample(
  "a request for a billion samples is refused",
  "One request must not be able to bring the server down for everyone.",
  Effect.succeed({ num_samples: 1e9 })
)

export const temperature = refusesSample(
  "a negative temperature is refused",
  "It would prefer the least likely tokens.",
  Effect.succeed({ sampling_params: { ...Examples.sampling, temperature: -1 } })
)

const hides = "The request is a mistake that any answer would hide."

export const wideTopP = refusesSample(
  "a top_p above 1 is refused",
  hides,
  Effect.succeed({ sampling_params: { ...Examples.sampling, top_p: 1.5 } })
)

export const negativeTopP = refusesSample(
  "a negative top_p is refused",
  hides,
  Effect.succeed({ sampling_params: { ...Examples.sampling, top_p: -0.5 } })
)

export const negativeSamples = refusesSample(
  "a request for a negative number of samples is refused",
  hides,
  Effect.succeed({ num_samples: -1 })
)

export const emptyPrompt = refusesSample(
  "an empty prompt is refused",
  "There is nothing to continue, and a substitute would be a different prompt.",
  Effect.succeed({ prompt: { chunks: [] } })
)

export const negativeCandidates = refusesSample(
  "a request for a negative number of candidates is refused",
  hides,
  Effect.succeed({ prompt_logprobs: true, topk_prompt_logprobs: -1 })
)

/** The number of tokens that the context has left after the long prompt. */
const few = 3

export const untilTheEnd: Check.Check = {
  theme: "limits",
  name: "without max_tokens a sample may fill the rest of the context, and its whole prompt is read",
  why: "An unrequested limit truncates answers, and a long prompt that loses its beginning is answered anyway.",
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const length = yield* contextLength
    const { sampler } = yield* session
    const id = yield* sampler
    const { max_tokens: _, ...params } = Examples.sampling
    const text = Array.from({ length: length - few }, (_, at) => at % 7 === 0 ? 3 : at % 11)
    const ask = (sequence: number, prompt: ReadonlyArray<number>, more: object, sampling: object) =>
      Effect.map(
        Effect.flatMap(
          post(
            "/asample",
            Examples.sample(id, sequence, {
              num_samples: 1,
              prompt: Examples.prompt(prompt),
              sampling_params: { ...params, temperature: 0, stop: [], ...sampling },
              ...more
            })
          ),
          Blame.expectDone
        ),
        ({ body }) => ({ scores: Examples.promptLogprobsOf({ status: 200, body }), one: Examples.sequencesOf(body)[0] })
      )
    const { one } = yield* ask(1, text, {}, {})
    yield* Check.expect(one?.tokens.length === few, `${few} tokens`, one?.tokens.length)
    const scored = yield* ask(2, [...text, ...one?.tokens.slice(0, -1) ?? []], { prompt_logprobs: true }, {
      max_tokens: 1
    })
    const expected = one?.logprobs.slice(0, -1) ?? []
    yield* Check.expectClose("logprobs of the whole text", scored.scores.slice(1 - few), expected, 0.03)
  })
}

export const passLength = refusesPass(
  "a datum longer than the context is refused",
  "Silently truncated training data lose the tokens that earned the reward.",
  Effect.map(
    contextLength,
    (contextLength) => [Examples.datum({ tokens: long(contextLength + 1), targets: long(contextLength + 1) })]
  )
)

export const targetToken = refusesPass(
  "a target outside of the vocabulary is refused",
  "A clamped target trains the last token of the vocabulary.",
  Effect.succeed([Examples.datum({ tokens: [1, 2], targets: [2, beyond] })])
)

export const noData = refusesPass(
  "a pass without data is refused",
  "The next step would train on nothing or on leftover gradients.",
  Effect.succeed([])
)

export const negativePromptToken = refusesSample(
  "a prompt with a negative token id is refused",
  "A mask value in a prompt would be read as some other token.",
  Effect.succeed({ prompt: Examples.prompt([1, -100, 2]) })
)

export const negativeMaxTokens = refusesSample(
  "a negative max_tokens is refused",
  "The request is a mistake that samples of any length would hide.",
  Effect.succeed({ sampling_params: { ...Examples.sampling, max_tokens: -1 } })
)

export const negativeTarget = refusesPass(
  "a negative target is refused",
  "Other trainers ignore such targets; this one would train on some other token.",
  Effect.succeed([Examples.datum({ tokens: [1, 2], targets: [2, -100] })])
)

export const negativeRate: Check.Check = {
  theme: "limits",
  name: "a step with a negative learning rate is refused",
  why: "A schedule that runs past its end would undo what the run has learned.",
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const { model } = yield* session
    const model_id = yield* model
    yield* Blame.expectDone(yield* post("/forward_backward", Examples.pass(model_id, 1)))
    yield* Blame.expectRefused(yield* post("/optim_step", Examples.step(model_id, 2, { learning_rate: -1e-3 })))
  })
}

export const noRank = refusesRank("a rank of 0 is refused", 0)

export const hugeRank = refusesRank("a rank of a million is refused", 1_000_000)

/** A white image of 32 × 32 pixels. */
const image = {
  type: "image",
  format: "png",
  data:
    "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAJklEQVR42u3NMQ0AAAwDoPo33arYsQQMkB6LQCAQCAQCgUAg+BIMi1X0ptsIcT0AAAAASUVORK5CYII=",
  expected_tokens: 1
}

export const images: Check.Check = {
  theme: "limits",
  name: "an image in a prompt is used or refused",
  why: "A model that never sees the image answers anyway and is rewarded for guessing.",
  run: Effect.gen(function*() {
    const { post, result, session } = yield* RawRequests
    const { sampler } = yield* session
    const id = yield* sampler
    const { chunks } = Examples.prompt()
    const prompt = { chunks: [...chunks, image, ...chunks] }
    const seen = yield* Effect.flatMap(
      post("/asample", Examples.sample(id, 1, { prompt, prompt_logprobs: true })),
      result
    )
    if (seen.status !== 200 || "error" in seen.body) {
      yield* Blame.expectRefused(seen)
      return "the server refuses images"
    }
    const { prompt_logprobs: found } = seen.body
    const length = Array.isArray(found) ? found.length : 0
    const text = 2 * Examples.tokens.length
    yield* Check.expect(length > text, `more than ${text} places of a prompt with an image`, length)
  })
}

export const all = [
  images,
  promptLength,
  maxTokens,
  promptToken,
  noSamples,
  manySamples,
  temperature,
  contextFills,
  passFills,
  passLength,
  targetToken,
  noData,
  negativePromptToken,
  negativeMaxTokens,
  negativeTarget,
  negativeRate,
  noRank,
  hugeRank,
  wideTopP,
  negativeTopP,
  negativeSamples,
  emptyPrompt,
  negativeCandidates,
  untilTheEnd
]
