import { Tinker } from "@effect-rl/core"
import { Capabilities, type SamplingClient } from "@effect-rl/core/backend"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Check from "../Check.ts"
import * as Draws from "../Draws.ts"
import { RawRequests } from "../RawRequests.ts"

/** Number of samples that distinguish a temperature from one that is 10 % higher. */
const many = 2048

/** Number of samples that distinguish these temperatures if many tokens are almost equally likely. */
const most = 4608

/** Number of samples in which every common token occurs. */
const some = 384

/** The probability below which tokens are not counted individually. */
const rare = 0.01

/** Rounding error of log-probabilities, including in bfloat16. */
const rounding = 0.02

const sampler = Effect.gen(function*() {
  const { model: baseModel } = yield* RawRequests
  const tinker = yield* Tinker.Tinker
  const client = yield* tinker.createSamplingClient({ baseModel })
  return { client, prompt: yield* Draws.openPrompt(client), capabilities: yield* tinker.capabilities(baseModel) }
})

const common = (draws: ReadonlyArray<Draws.Draw>) =>
  Draws.distinct(draws).filter(({ logprob }) => Math.exp(logprob) > rare)

const sharp = Check.absent("the next token is certain after every prompt that the check tried")

const asReported = (what: string, pool: ReadonlyArray<Draws.Draw>, draws: ReadonlyArray<Draws.Draw>) => {
  const tokens = common(pool)
  const known = tokens.reduce((sum, { logprob }) => sum + Math.exp(logprob), 0)
  const others = draws.filter(({ token }) => tokens.every((one) => one.token !== token))
  return Effect.andThen(
    Check.expect(known < 1 + rounding, "probabilities that add up to at most 1", known),
    Draws.expectDistributions(what, [[
      ...Draws.counted(tokens, draws, Math.exp).map(({ count }, at) => ({
        count,
        probability: Math.exp(tokens[at]?.logprob ?? NaN) / Math.max(known, 1)
      })),
      { count: others.length, probability: Math.max(1 - known, rounding / most) }
    ]])
  ).pipe(
    Effect.andThen(Draws.expectDistributions(what, [Draws.counted(Draws.distinct(pool), draws, Math.exp)]))
  )
}

export const frequencies: Check.Check = {
  theme: "sampling",
  name: "tokens are drawn as often as their log-probabilities say",
  why:
    "Policy gradients weight samples by these numbers. If sampling differs from them, the gradient has an invisible bias.",
  run: Effect.gen(function*() {
    const { capabilities: { seeds }, client, prompt } = yield* sampler
    const pool = yield* Draws.first(client, prompt, 2 * some, { temperature: 1 })
    yield* asReported("tokens", pool, yield* Draws.first(client, prompt, most, { temperature: 1 }))
    if (!Capabilities.promise(seeds, "request")) return
    yield* asReported(
      "tokens of seeds",
      pool,
      yield* Draws.first(client, prompt, 2 * some, { temperature: 1, seed: 7 })
    )
  })
}

const tempered = (temperature: number) => (logprob: number) => Math.exp(logprob / temperature)

/** Expects tokens sampled at a temperature to have the tempered distribution of the tokens in `pool`, drawn at temperature 1. */
const atTemperature = Effect.fnUntraced(function*(
  client: SamplingClient.SamplingClient,
  prompt: Parameters<typeof Draws.first>[1],
  pool: ReadonlyArray<Draws.Draw>,
  temperature: number
) {
  const tokens = Draws.distinct(pool)
  if (tokens.length < 2) return yield* sharp
  const draws = yield* Draws.first(client, prompt, many, { temperature })
  yield* Draws.expectDistributions(`tokens at temperature ${temperature}`, [
    Draws.counted(tokens, draws, tempered(temperature))
  ])
})

export const withTopP: Check.Check = {
  theme: "sampling",
  name: "a temperature applies even if top_p and a seed are given",
  why: "If one option disables another, samples come from the wrong distribution.",
  run: Effect.gen(function*() {
    const { client, prompt } = yield* sampler
    const pool = yield* Draws.first(client, prompt, some, { temperature: 1 })
    const tokens = Draws.distinct(pool)
    if (tokens.length < 2) return yield* sharp
    const draws = yield* Draws.first(client, prompt, 2 * some, { temperature: 1.6, topP: 0.9999, seed: 5 })
    yield* Draws.expectDistributions("tokens at temperature 1.6 and top_p 0.9999", [
      Draws.counted(tokens, draws, tempered(1.6))
    ])
  })
}

const temperature = (value: number): Check.Check => ({
  theme: "sampling",
  name: `a temperature of ${value} draws tokens in proportion to their probabilities to the power ${
    Number((1 / value).toFixed(2))
  }`,
  why:
    "If the temperature is ignored, runs explore too little or too much, and evaluations use the wrong distribution.",
  run: Effect.gen(function*() {
    const { client, prompt } = yield* sampler
    const pool = yield* Draws.first(client, prompt, some, { temperature: 1 })
    yield* atTemperature(client, prompt, pool, value)
  })
})

export const topK: Check.Check = {
  theme: "sampling",
  name: "top_k draws only the k most likely tokens, in proportion to their probabilities",
  why: "Tokens from the tail derail samples, and a cutoff that is too strict makes samples repetitive.",
  run: Effect.gen(function*() {
    const { client, prompt } = yield* sampler
    const pool = yield* Draws.first(client, prompt, some, { temperature: 1 })
    const topK = Math.min(common(pool).length - 1, 5)
    if (topK < 2) return yield* sharp
    const draws = yield* Draws.first(client, prompt, 2 * some, { temperature: 1, topK })
    const known = Draws.distinct([...pool, ...draws])
    const least = known[topK - 1]?.logprob ?? NaN
    const outside = draws.find(({ logprob }) => logprob < least - rounding)
    yield* Check.expect(
      outside === undefined,
      `tokens of a log-probability of at least ${least} at top_k ${topK}`,
      `token ${outside?.token} of ${outside?.logprob}`
    )
    yield* Draws.expectDistributions(`the ${topK} most likely tokens`, [
      Draws.counted(known.slice(0, topK), draws, Math.exp)
    ])
  })
}

export const topP: Check.Check = {
  theme: "sampling",
  name: "top_p draws only the smallest set of most likely tokens that reaches it, in proportion to their probabilities",
  why: "Tokens from the tail derail samples, and a cutoff that is too strict makes samples repetitive.",
  run: Effect.gen(function*() {
    const { client, prompt } = yield* sampler
    const pool = yield* Draws.first(client, prompt, some, { temperature: 1 })
    const nucleus = common(pool).slice(0, -1).slice(0, 4)
    const last = nucleus.at(-1)
    if (last === undefined) return yield* sharp
    // Half of the last token's probability is excluded, so rounding cannot move the cutoff to another token.
    const topP = nucleus.reduce((sum, { logprob }) => sum + Math.exp(logprob), 0) - Math.exp(last.logprob) / 2
    const draws = yield* Draws.first(client, prompt, 2 * some, { temperature: 1, topP })
    const outside = draws.find(({ logprob }) => logprob < last.logprob - rounding)
    yield* Check.expect(
      outside === undefined,
      `tokens of a log-probability of at least ${last.logprob} at top_p ${topP}`,
      `token ${outside?.token} of ${outside?.logprob}`
    )
    yield* Draws.expectDistributions(`the ${nucleus.length} most likely tokens`, [
      Draws.counted(nucleus, draws, Math.exp)
    ])
  })
}

/** The draws at position `at`, grouped by the preceding tokens. */
const byPath = (
  drawn: ReadonlyArray<{ readonly tokens: Int32Array; readonly logprobs: Float32Array }>,
  at: number
): ReadonlyArray<ReadonlyArray<Draws.Draw>> =>
  Object.values(Arr.groupBy(
    drawn.filter(({ tokens }) => tokens.length > at),
    ({ tokens }) => tokens.subarray(0, at).join()
  )).map((same) => same.map(({ logprobs, tokens }) => ({ token: tokens[at] ?? NaN, logprob: logprobs[at] ?? NaN })))

export const later: Check.Check = {
  theme: "sampling",
  name: "temperature and top_k hold for every token of a sample",
  why: "If parameters apply only to the first token, the rest of the answer comes from the wrong distribution.",
  run: Effect.gen(function*() {
    const { client, prompt } = yield* sampler
    const drawn = yield* Draws.sequences(client, prompt, 2 * some, { maxTokens: 3, temperature: 2, topK: 2 })
    const paths = [0, 1, 2].flatMap((at) => byPath(drawn, at))
    for (const draws of paths) {
      const found = Draws.distinct(draws)
      yield* Check.expect(found.length <= 2, "2 tokens after the same text at top_k 2", found.length)
    }
    const open = paths.filter((draws) => draws.length >= 150 && Draws.distinct(draws).length === 2)
    if (open.length === 0) return yield* sharp
    yield* Draws.expectDistributions(
      "the two most likely tokens at temperature 2",
      open.map((draws) => Draws.counted(Draws.distinct(draws), draws, tempered(2)))
    )
  })
}

export const all = [frequencies, temperature(0.5), temperature(0.8), temperature(2), withTopP, topK, topP, later]
