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
  why: "An adapter of another rank than was asked for has another capacity, and its checkpoints do not load elsewhere.",
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
  "A prompt that is cut silently is answered, and the reward is for another question.",
  Effect.map(contextLength, (contextLength) => ({ prompt: Examples.prompt(long(contextLength + 1)) }))
)

export const maxTokens = refusesSample(
  "a prompt and max_tokens that exceed the context are refused",
  "Samples that end earlier than asked for count as truncated, without a reason.",
  Effect.map(
    contextLength,
    (contextLength) => ({ sampling_params: { ...Examples.sampling, max_tokens: contextLength } })
  )
)

export const contextFills: Check.Check = {
  theme: "limits",
  name: "a prompt and max_tokens that fill the stated context are answered",
  why:
    "Runs are planned by the stated context; a shorter one refuses the longest rollouts, which are the last to come.",
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
  why: "What can be sampled and not trained on fails a run at its longest rollout.",
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
  "It means that the client has the wrong tokenizer, which no other sign shows.",
  Effect.succeed({ prompt: Examples.prompt([1, beyond]) })
)

export const noSamples = refusesSample(
  "a request for no samples is refused",
  "It is a mistake of the client, which an empty answer hides.",
  Effect.succeed({ num_samples: 0 })
)

export const manySamples = refusesSample(
  "a request for a billion samples is refused",
  "One request must not be able to end the server for everybody.",
  Effect.succeed({ num_samples: 1e9 })
)

export const temperature = refusesSample(
  "a negative temperature is refused",
  "It turns the distribution upside down.",
  Effect.succeed({ sampling_params: { ...Examples.sampling, temperature: -1 } })
)

const hides = "It is a mistake of the client, which an answer of any kind hides."

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
  "There is nothing to continue; what is put in its place is another prompt.",
  Effect.succeed({ prompt: { chunks: [] } })
)

export const negativeCandidates = refusesSample(
  "a request for a negative number of candidates is refused",
  hides,
  Effect.succeed({ prompt_logprobs: true, topk_prompt_logprobs: -1 })
)

/** How many tokens short of the context's end `max_tokens` may stop. */
const few = 3

export const untilTheEnd: Check.Check = {
  theme: "limits",
  name: "without max_tokens a sample may take what is left of the context, and reads all of its prompt",
  why: "A limit that nobody asked for cuts answers, and a long prompt that loses its head is answered all the same.",
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
  "Training data that are cut silently lose the tokens that earned the reward.",
  Effect.map(
    contextLength,
    (contextLength) => [Examples.datum({ tokens: long(contextLength + 1), targets: long(contextLength + 1) })]
  )
)

export const targetToken = refusesPass(
  "a target outside of the vocabulary is refused",
  "A target that is clamped trains the last token of the vocabulary.",
  Effect.succeed([Examples.datum({ tokens: [1, 2], targets: [2, beyond] })])
)

export const noData = refusesPass(
  "a pass without data is refused",
  "A step after it trains on nothing, or on what was left over.",
  Effect.succeed([])
)

export const negativePromptToken = refusesSample(
  "a prompt with a negative token id is refused",
  "A mask of training data that went into a prompt is read as another token.",
  Effect.succeed({ prompt: Examples.prompt([1, -100, 2]) })
)

export const negativeMaxTokens = refusesSample(
  "a negative max_tokens is refused",
  "It is a mistake of the client, which samples of any length hide.",
  Effect.succeed({ sampling_params: { ...Examples.sampling, max_tokens: -1 } })
)

export const negativeTarget = refusesPass(
  "a negative target is refused",
  "Other trainers skip such targets, and this one would learn some token in their place.",
  Effect.succeed([Examples.datum({ tokens: [1, 2], targets: [2, -100] })])
)

export const negativeRate: Check.Check = {
  theme: "limits",
  name: "a step with a negative learning rate is refused",
  why: "A schedule that ran past its end would unlearn what the run has learned.",
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
  name: "an image in a prompt is read, or refused",
  why: "A model that never sees the image answers all the same, and is rewarded for guessing.",
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
      return "images are refused"
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
