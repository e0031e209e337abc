import { Tinker } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Blame from "../Blame.ts"
import type { Check } from "../Check.ts"
import * as Examples from "../Examples.ts"
import { RawRequests } from "../RawRequests.ts"

/** Refuses a request to sample that differs from the example in these fields. */
const refusesSample = (name: string, why: string, more: (contextLength: number) => object): Check => ({
  theme: "limits",
  name,
  why,
  run: Effect.gen(function*() {
    const { model, post, session } = yield* RawRequests
    const { contextLength } = yield* Tinker.Tinker.use(({ capabilities }) => capabilities(model))
    const { sampler } = yield* session
    yield* Blame.expectRefused(yield* post("/asample", Examples.sample(yield* sampler, 1, more(contextLength))))
  })
})

/** Refuses a pass of this datum. */
const refusesPass = (name: string, why: string, data: (contextLength: number) => ReadonlyArray<object>): Check => ({
  theme: "limits",
  name,
  why,
  run: Effect.gen(function*() {
    const { model: base, post, session } = yield* RawRequests
    const { contextLength } = yield* Tinker.Tinker.use(({ capabilities }) => capabilities(base))
    const { model } = yield* session
    yield* Blame.expectRefused(
      yield* post("/forward_backward", Examples.pass(yield* model, 1, data(contextLength)))
    )
  })
})

const refusesRank = (name: string, rank: number): Check => ({
  theme: "limits",
  name,
  why: "An adapter of another rank than was asked for has another capacity, and its checkpoints do not load elsewhere.",
  run: Effect.gen(function*() {
    const { model: base_model, post, session } = yield* RawRequests
    const { id: session_id } = yield* session
    yield* Blame.expectRefused(
      yield* post("/create_model", { session_id, model_seq_id: 0, base_model, lora_config: { rank } })
    )
  })
})

const long = (length: number) => Array.from({ length }, () => 3)

/** A token id beyond every model's vocabulary. */
const beyond = 2 ** 31 - 2

export const promptLength = refusesSample(
  "a prompt longer than the context is refused",
  "A prompt that is cut silently is answered, and the reward is for another question.",
  (contextLength) => ({ prompt: Examples.prompt(long(contextLength + 1)) })
)

export const maxTokens = refusesSample(
  "a prompt and max_tokens that exceed the context are refused",
  "Samples that end earlier than asked for count as truncated, without a reason.",
  (contextLength) => ({ sampling_params: { max_tokens: contextLength } })
)

export const promptToken = refusesSample(
  "a prompt with a token id outside of the vocabulary is refused",
  "It means that the client has the wrong tokenizer, which no other sign shows.",
  () => ({ prompt: Examples.prompt([1, beyond]) })
)

export const noSamples = refusesSample(
  "a request for no samples is refused",
  "It is a mistake of the client, which an empty answer hides.",
  () => ({ num_samples: 0 })
)

export const manySamples = refusesSample(
  "a request for a billion samples is refused",
  "One request must not be able to end the server for everybody.",
  () => ({ num_samples: 1e9 })
)

export const temperature = refusesSample(
  "a negative temperature is refused",
  "It turns the distribution upside down.",
  () => ({ sampling_params: { max_tokens: 2, temperature: -1 } })
)

export const passLength = refusesPass(
  "a datum longer than the context is refused",
  "Training data that are cut silently lose the tokens that earned the reward.",
  (contextLength) => [Examples.datum({ tokens: long(contextLength + 1), targets: long(contextLength + 1) })]
)

export const targetToken = refusesPass(
  "a target outside of the vocabulary is refused",
  "A target that is clamped trains the last token of the vocabulary.",
  () => [Examples.datum({ tokens: [1, 2], targets: [2, beyond] })]
)

export const noData = refusesPass(
  "a pass without data is refused",
  "A step after it trains on nothing, or on what was left over.",
  () => []
)

export const noRank = refusesRank("a rank of 0 is refused", 0)

export const hugeRank = refusesRank("a rank of a million is refused", 1_000_000)

export const all = [
  promptLength,
  maxTokens,
  promptToken,
  noSamples,
  manySamples,
  temperature,
  passLength,
  targetToken,
  noData,
  noRank,
  hugeRank
]
