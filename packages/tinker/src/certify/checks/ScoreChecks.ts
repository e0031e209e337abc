import { Tinker } from "@effect-rl/core"
import { ModelInput, type Sampling, type SamplingClient } from "@effect-rl/core/backend"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Check from "../Check.ts"
import * as Draws from "../Draws.ts"
import * as Examples from "../Examples.ts"
import * as Precision from "../Precision.ts"
import { RawRequests } from "../RawRequests.ts"
import * as StateTwins from "../StateTwins.ts"

/** Rounding tolerance between two ways to compute the same log-probability. */
const tolerance = 0.02

const why =
  "Distillation, evaluations and importance ratios read these numbers one by one, and nobody notices a wrong one."

const sampler = Effect.gen(function*() {
  const { model: baseModel } = yield* RawRequests
  const tinker = yield* Tinker.Tinker
  return yield* tinker.createSamplingClient({ baseModel })
})

const { tokens } = Examples

const one: Sampling.SamplingParams = { maxTokens: 1 }

/** The log-probability of `token` in place of the prompt's token at `position`. */
const scored = (client: SamplingClient.SamplingClient, position: number, token: number) =>
  Effect.map(
    client.computeLogprobs(ModelInput.fromTokens([...tokens.subarray(0, position), token])),
    (logprobs) => logprobs.at(-1) ?? NaN
  )

const expectScored = Effect.fnUntraced(function*(
  what: string,
  client: SamplingClient.SamplingClient,
  position: number,
  { logprob, token }: Sampling.TokenLogprob
) {
  const expected = yield* scored(client, position, token)
  yield* Check.expectClose(`${what}, token ${token} in place ${position},`, [logprob], [expected], tolerance)
})

export const precision: Check.Check = {
  theme: "logprobs",
  name: "log-probabilities have float32 precision",
  why:
    "Rounded to two decimals, a log-probability makes the ratio of equal policies differ from 1 by half a percent per token.",
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const tinker = yield* Tinker.Tinker
    const client = yield* tinker.createSamplingClient({ baseModel })
    const { promptLogprobs = new Float32Array(), sequences } = yield* client.sample({
      prompt: ModelInput.fromTokens(Arr.makeBy(32, (at) => at % 13)),
      numSamples: 4,
      params: { maxTokens: 16 },
      promptLogprobs: true
    })
    yield* Precision.expectFull("logprobs of samples", sequences.flatMap(({ logprobs }) => [...logprobs]))
    yield* Precision.expectFull("prompt_logprobs", promptLogprobs)
    const trainer = yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 8 })
    yield* Precision.expectFull("logprobs of a pass", yield* StateTwins.logprobsOf(trainer))
  })
}

export const lastN: Check.Check = {
  theme: "logprobs",
  name: "prompt_logprobs_last_n scores the last tokens of a prompt and no others",
  why: "Clients request it to avoid paying for scores of the whole prompt.",
  run: Effect.gen(function*() {
    const client = yield* sampler
    const ask = { prompt: Examples.input, params: one, promptLogprobs: true }
    const { promptLogprobs: all = [] } = yield* client.sample(ask)
    const { promptLogprobs: found = [] } = yield* client.sample({ ...ask, promptLogprobsLastN: 3 })
    yield* Check.expect(found.length === tokens.length, `${tokens.length} places`, found.length)
    const isEmpty = [...found].slice(0, -3).every(Number.isNaN)
    yield* Check.expect(isEmpty, "nothing before the last 3 places", [...found].slice(0, -3).join(", "))
    yield* Check.expectClose("the last 3", [...found].slice(-3), [...all].slice(-3), tolerance)
  })
}

const topkOf = Effect.fnUntraced(function*(k: number) {
  const { model } = yield* RawRequests
  const { topkPromptLogprobs } = yield* Tinker.Tinker.use(({ capabilities }) => capabilities(model))
  if (topkPromptLogprobs < k) return yield* Check.absent("the server returns no candidates for prompt tokens")
})

export const topk: Check.Check = {
  theme: "logprobs",
  name: "prompt candidates are the requested number of most likely tokens, with their log-probabilities",
  why,
  run: Effect.gen(function*() {
    yield* topkOf(5)
    const client = yield* sampler
    const { topkPromptLogprobs = [] } = yield* client.sample({
      prompt: Examples.input,
      params: one,
      promptLogprobs: true,
      topkPromptLogprobs: 5
    })
    for (const position of [1, 3, tokens.length - 1]) {
      const candidates = topkPromptLogprobs[position] ?? []
      yield* Check.expect(candidates.length === 5, `5 candidates in place ${position}`, candidates.length)
      yield* Effect.forEach(candidates, (candidate) => expectScored("a candidate", client, position, candidate))
      const drawn = yield* Draws.first(client, ModelInput.fromTokens(tokens.subarray(0, position)), 256)
      const least = candidates.at(-1)?.logprob ?? NaN
      const missed = drawn.find(({ logprob, token }) =>
        logprob > least + tolerance && candidates.every((candidate) => candidate.token !== token)
      )
      yield* Check.expect(
        missed === undefined,
        `nothing more likely in place ${position} than its candidates, ${least}`,
        `token ${missed?.token}, ${missed?.logprob}`
      )
    }
  })
}

export const topkSamples: Check.Check = {
  theme: "logprobs",
  name: "candidates of sampled tokens equal those of the same text as a prompt",
  why,
  run: Effect.gen(function*() {
    yield* topkOf(3)
    const client = yield* sampler
    const { sequences: [sequence] } = yield* client.sample({
      prompt: Examples.input,
      params: { maxTokens: 4 },
      topkSampleLogprobs: 3
    })
    if (sequence === undefined) return yield* Check.expect(false, "a sequence", "none")
    const { topkPromptLogprobs = [] } = yield* client.sample({
      prompt: ModelInput.append(Examples.input, sequence.tokens),
      params: one,
      promptLogprobs: true,
      topkPromptLogprobs: 3
    })
    const { topkLogprobs = [] } = sequence
    yield* Check.expect(
      topkLogprobs.length === sequence.tokens.length,
      "candidates of every token",
      topkLogprobs.length
    )
    const flat = (topT: typeof topkLogprobs) => topT.flatMap((top) => top.map(({ logprob }) => logprob))
    yield* Check.expectClose(
      "candidates",
      flat(topkLogprobs),
      flat(topkPromptLogprobs.slice(tokens.length)),
      tolerance
    )
  })
}

export const targets: Check.Check = {
  theme: "logprobs",
  name: "target_prompt_logprobs scores given tokens at the prompt's positions",
  why,
  run: Effect.gen(function*() {
    const client = yield* sampler
    const wanted = Int32Array.from(tokens.subarray(1), (_, at) => (at * 3) % 11)
    const { targetPromptLogprobs } = yield* client.sample({
      prompt: Examples.input,
      params: one,
      targetPromptLogprobs: { tokens: wanted, candidates: 1 }
    })
    const found = targetPromptLogprobs?.logprobs ?? new Float32Array()
    yield* Check.expect(found.length === wanted.length, `${wanted.length} log-probabilities`, found.length)
    yield* Effect.forEach(
      wanted,
      (token, at) => expectScored("the target", client, at + 1, { token, logprob: found[at] ?? NaN })
    )
  })
}

export const alternatives: Check.Check = {
  theme: "logprobs",
  name: "prompt_alt_tokens_k draws alternative prompt tokens as often as their log-probabilities say",
  why,
  run: Effect.gen(function*() {
    const client = yield* sampler
    const places = tokens.length - 1
    const k = 8
    const draws = yield* Effect.forEach(Arr.range(1, 128), () =>
      Effect.map(
        client.sample({ prompt: Examples.input, params: one, promptAltTokens: k }),
        ({ promptAltTokens }) =>
          Arr.makeBy(k, (at): Draws.Draw => ({
            token: promptAltTokens?.tokens[(places - 1) * k + at] ?? NaN,
            logprob: promptAltTokens?.logprobs[(places - 1) * k + at] ?? NaN
          }))
      ), { concurrency: 4 })
    const drawn = draws.flat()
    const common = Draws.distinct(drawn).filter(({ logprob }) => logprob > Math.log(0.02)).slice(0, 8)
    yield* Effect.forEach(common, (draw) => expectScored("an alternative", client, places, draw))
    if (common.length < 2) return yield* Check.absent("the next token is certain")
    yield* Draws.expectDistributions("alternatives", [Draws.counted(common, drawn, Math.exp)])
  })
}

export const all = [precision, lastN, topk, topkSamples, targets, alternatives]
