/** Temperatures from low to high, each tested after texts where a wrong temperature is most visible. */
import { Tinker } from "@effect-rl/core"
import { ModelInput, type SamplingClient } from "@effect-rl/core/backend"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Order from "effect/Order"
import * as Check from "../Check.ts"
import * as Draws from "../Draws.ts"
import * as Examples from "../Examples.ts"
import { RawRequests } from "../RawRequests.ts"

/** A text with the likeliest tokens after it. */
interface Place {
  readonly text: ReadonlyArray<number>
  readonly candidates: ReadonlyArray<Draws.Draw>
}

/** All positions of a long text for which the server reports the likeliest tokens. */
const placesOf = Effect.fnUntraced(function*(client: SamplingClient.SamplingClient, most: number) {
  const { sequences: [one] } = yield* client.sample({
    prompt: Examples.input,
    params: { maxTokens: 160, temperature: 1.5, stop: [] }
  })
  const text = [...Examples.tokens, ...one?.tokens ?? []]
  const { topkPromptLogprobs = [] } = yield* client.sample({
    prompt: ModelInput.fromTokens(text),
    params: { maxTokens: 1 },
    promptLogprobs: true,
    topkPromptLogprobs: Math.min(most, 20)
  })
  return topkPromptLogprobs.flatMap((candidates, at): ReadonlyArray<Place> =>
    candidates.length < 2 ? [] : [{ text: text.slice(0, at), candidates }]
  )
})

/** Lower bound for the weight of a token, relative to the likeliest token. */
const rarest = 1e-9

const weightAt = (best: number, temperature: number) => (logprob: number) =>
  Math.max(Math.exp((logprob - best) / temperature), rarest)

const bestOf = ({ candidates }: Place) => Math.max(...candidates.map(({ logprob }) => logprob))

/**
 * The variance of the tempered log-probabilities: how much one draw reveals about the temperature (its Fisher
 * information, up to a factor).
 */
const told = (temperature: number) => (place: Place) => {
  const weight = weightAt(bestOf(place), temperature)
  const weights = place.candidates.map(({ logprob }) => weight(logprob))
  const total = weights.reduce((sum, one) => sum + one, 0)
  const moment = (power: number) =>
    place.candidates.reduce(
      (sum, { logprob }, at) => sum + (weights[at] ?? 0) / total * (logprob / temperature) ** power,
      0
    )
  return moment(2) - moment(1) ** 2
}

/** At lower temperatures rounding can decide between tokens, so only a temperature that is too high is tested there. */
const freezing = 0.05

const usedPlaces = 4

const drawsPerPlace = 192

const temperatures = [0.02, freezing, 0.1, 0.2, 0.3, 0.45, 0.7, 1.4, 3, 8]

export const everywhere: Check.Check = {
  theme: "sampling",
  name: `temperatures from ${temperatures[0]} to ${temperatures.at(-1)} draw tokens by their probabilities`,
  why: "A temperature that the server clamps samples a different policy.",
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const tinker = yield* Tinker.Tinker
    const { topkPromptLogprobs: most } = yield* tinker.capabilities(baseModel)
    if (most < 2) return yield* Check.absent("the server returns no candidates for prompt tokens")
    const client = yield* tinker.createSamplingClient({ baseModel })
    const places = yield* placesOf(client, most)
    for (const temperature of temperatures) {
      const seen = told(temperature > freezing ? temperature : 4 * temperature)
      const best = Arr.sort(places, Order.mapInput(Order.flip(Order.Number), seen)).slice(0, usedPlaces)
      const counted = yield* Effect.forEach(best, (place) =>
        Effect.map(
          Draws.first(client, ModelInput.fromTokens(place.text), drawsPerPlace, { temperature }),
          (draws) => Draws.counted(place.candidates, draws, weightAt(bestOf(place), temperature))
        ))
      yield* Draws.expectDistributions(`tokens at temperature ${temperature}`, counted)
    }
  })
}

/** How many tokens a cutoff keeps, each tested by its own request. */
const cuts = [1, 2, 3, 4, 6, 9, 13, 19]

export const everyCut: Check.Check = {
  theme: "sampling",
  name: "top_k keeps the requested number of tokens, and top_p the smallest set that reaches it, after every text",
  why: "A cutoff that is one token off, or depends on other settings, admits the tail or excludes likely tokens.",
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const tinker = yield* Tinker.Tinker
    const { topkPromptLogprobs: most } = yield* tinker.capabilities(baseModel)
    if (most < 20) return yield* Check.absent("the server returns fewer than 20 candidates per prompt token")
    const client = yield* tinker.createSamplingClient({ baseModel })
    const places = Arr.sort(yield* placesOf(client, most), Order.mapInput(Order.flip(Order.Number), told(1)))
    for (const [at, count] of cuts.entries()) {
      const place = places[at]
      const kept = place?.candidates.slice(0, count) ?? []
      const [last, next] = [place?.candidates[count - 1], place?.candidates[count]]
      if (place === undefined || last === undefined || next === undefined) continue
      if (last.logprob - next.logprob < 0.02) continue
      const share = (all: ReadonlyArray<Draws.Draw>) => all.reduce((sum, { logprob }) => sum + Math.exp(logprob), 0)
      // Half of the last token's probability is excluded, so rounding cannot move the cutoff to another token.
      const topP = share(kept) - Math.exp(last.logprob) / 2
      for (const [params, heat] of [[{ temperature: 3, topK: count }, 3], [{ temperature: 1, topP }, 1]] as const) {
        const what = JSON.stringify(params)
        const draws = yield* Draws.first(client, ModelInput.fromTokens(place.text), drawsPerPlace, params)
        const outside = draws.filter(({ token }) => kept.every((one) => one.token !== token)).length
        yield* Check.expect(outside === 0, `the ${count} most likely tokens at ${what}`, `${outside} others`)
        if (count === 1) continue
        const counted = Draws.counted(kept, draws, weightAt(bestOf(place), heat))
        yield* Draws.expectDistributions(`the ${count} most likely tokens at ${what}`, [counted])
      }
    }
  })
}

export const all = [everywhere, everyCut]
