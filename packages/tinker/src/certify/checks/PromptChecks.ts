/** Similar prompts: cached data for one prompt must not answer for another. */
import { Loss, Tinker } from "@effect-rl/core"
import { Capabilities, ModelInput, type Sampling, type SamplingClient } from "@effect-rl/core/backend"
import type { Contract } from "@effect-rl/core/testing"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Blame from "../Blame.ts"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import { RawRequests } from "../RawRequests.ts"
import * as StateTwins from "../StateTwins.ts"

const tolerance = 0.03

const clients = Effect.gen(function*() {
  const { model: baseModel } = yield* RawRequests
  const tinker = yield* Tinker.Tinker
  return {
    contextLength: (yield* tinker.capabilities(baseModel)).contextLength,
    seeds: (yield* tinker.capabilities(baseModel)).seeds,
    sampler: yield* tinker.createSamplingClient({ baseModel }),
    trainer: yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 8 })
  }
})

const textOf = (length: number) => Arr.makeBy(length, (at) => (at * at + 3 * at) % 17)

/** The text with a different token at each of these positions. */
const changed = (text: ReadonlyArray<number>, places: ReadonlyArray<number>) =>
  places.map((place) => text.map((token, at) => at === place ? token + 20 : token))

export const neighbours: Check.Check = {
  theme: "logprobs",
  name: "prompts that differ in a single token are scored separately, also when repeated",
  why: "A cache that confuses two prompts answers the wrong question.",
  run: Effect.gen(function*() {
    const { contextLength, sampler, trainer } = yield* clients
    for (const length of [9, 40, 130].filter((one) => one + 2 < contextLength)) {
      const text = textOf(length)
      const middle = Math.floor(length / 2)
      const all = [text, ...changed(text, [0, 1, middle, length - 2, length - 1]), text.slice(0, middle), text]
      const [first, ...others] = all.map((one) => Examples.ofText([...one, 5]))
      if (first === undefined) return
      const { logprobs } = yield* StateTwins.run(trainer.forward([first, ...others], Loss.crossEntropy))
      for (const [at, one] of [...all.entries(), ...all.entries()]) {
        const prompt = ModelInput.fromTokens(one)
        const scored = yield* sampler.computeLogprobs(prompt)
        const expected = logprobs[at] ?? new Float32Array()
        const what = `logprobs of text ${at} of ${length} tokens`
        yield* Check.expectClose(what, scored.subarray(1), expected.subarray(0, one.length - 1), tolerance)
        const { sequences: [drawn] } = yield* sampler.sample({ prompt, params: { maxTokens: 1, topK: 3 } })
        const whole = yield* sampler.computeLogprobs(ModelInput.append(prompt, drawn?.tokens ?? new Int32Array()))
        yield* Check.expectClose(
          `the logprob of a token after text ${at}`,
          drawn?.logprobs ?? [],
          whole.subarray(-1),
          tolerance
        )
      }
    }
  })
}

export const wholeContext: Check.Check = {
  theme: "logprobs",
  name: "trainer and sampler agree at every position of a text that nearly fills the context",
  why: "Errors that occur only in the longest texts spoil the longest rollouts.",
  run: Effect.gen(function*() {
    const { contextLength, sampler, trainer } = yield* clients
    const text = Arr.makeBy(Math.min(contextLength - 2, 1500), (at) => at % 29 === 0 ? 3 : (at * 7) % 23)
    const scored = yield* sampler.computeLogprobs(ModelInput.fromTokens(text))
    const { logprobs: [found = []] } = yield* StateTwins.run(
      trainer.forward([Examples.ofText(text)], Loss.crossEntropy)
    )
    yield* Check.expect(found.length === text.length - 1, `${text.length - 1} log-probabilities`, found.length)
    const wrong = Array.from(found).findIndex((value, at) =>
      !(Math.abs(value - (scored[at + 1] ?? NaN)) < 2 * tolerance)
    )
    yield* Check.expect(wrong < 0, `${scored[wrong + 1]} at position ${wrong + 1}`, found[wrong])
  })
}

const words = ({ tokens }: { readonly tokens: Int32Array }) => tokens.join(" ")

const drawn = (client: SamplingClient.SamplingClient, request: Omit<Sampling.SampleRequest, "prompt">) =>
  client.sample({ prompt: Examples.input, ...request })

export const scoresAside: Check.Check = {
  theme: "sampling",
  name: "requesting prompt scores does not change the samples",
  why: "Rollouts with scores would come from a different policy.",
  run: Effect.gen(function*() {
    const { sampler } = yield* clients
    const params = { maxTokens: 12, temperature: 0, stop: [] }
    const plain = yield* drawn(sampler, { params })
    const ways: ReadonlyArray<Omit<Sampling.SampleRequest, "prompt">> = [
      { params, promptLogprobs: true },
      { params, promptLogprobs: true, numSamples: 3 },
      { params, numSamples: 5 },
      { params: { ...params, seed: 3 } },
      { params: { ...params, topK: 1, topP: 0.5 } }
    ]
    const [expected] = plain.sequences
    if (expected === undefined) return yield* Check.expect(false, "a sequence", "none")
    for (const way of ways) {
      const { sequences } = yield* drawn(sampler, way)
      for (const one of sequences) {
        yield* Check.expect(
          words(one) === words(expected),
          `${words(expected)} with ${JSON.stringify(way)}`,
          words(one)
        )
        yield* Check.expectClose(`logprobs with ${JSON.stringify(way)}`, one.logprobs, expected.logprobs, tolerance)
      }
    }
  })
}

export const seedsAtOnce: Check.Check = {
  theme: "seeds",
  name: "concurrent requests with seeds get the same samples as alone",
  why: "Runs are repeated by their seeds, whatever else the server is doing.",
  run: Effect.gen(function*() {
    const { sampler, seeds } = yield* clients
    if (!Capabilities.promise(seeds, "request")) return yield* Check.absent("the same seed does not repeat its samples")
    const ask = (seed: number) =>
      Effect.map(
        drawn(sampler, { params: { maxTokens: 12, temperature: 1.5, stop: [], seed } }),
        ({ sequences: [one] }) => one === undefined ? "" : words(one)
      )
    const all = [1, 2, 3, 4, 5, 6, 7, 8]
    const alone = yield* Effect.forEach(all, ask)
    const noise = drawn(sampler, { numSamples: 4, params: { maxTokens: 12, temperature: 1.5, stop: [] } })
    const [together] = yield* Effect.all([
      Effect.forEach(all, ask, { concurrency: "unbounded" }),
      Effect.forEach([1, 2], () => noise, { concurrency: "unbounded" })
    ], { concurrency: "unbounded" })
    // Other batch sizes may resolve near ties differently.
    const other = together.filter((found, at) => found !== alone[at]).length
    yield* Check.expect(other <= 2, `${alone.join("; ")}`, together.join("; "))
    yield* Check.expect(new Set(together).size === all.length, "samples of each seed", together.join("; "))
  })
}

export const smallGroups: Check.Check = {
  theme: "sampling",
  name: "the samples of a small group all differ if many are possible",
  why: "A group of identical members has nothing to compare.",
  run: Effect.gen(function*() {
    const { sampler } = yield* clients
    const params = { maxTokens: 24, temperature: 2, stop: [] }
    const distinct = (numSamples: number) =>
      Effect.map(drawn(sampler, { numSamples, params }), ({ sequences }) => new Set(sequences.map(words)).size)
    if ((yield* distinct(24)) < 24) {
      return yield* Check.absent("the next tokens are nearly certain, so samples may be equal")
    }
    for (const count of [2, 3, 4, 5, 8, 16, 33, 64]) {
      const found = yield* distinct(count)
      yield* Check.expect(found === count, `${count} different samples`, found)
    }
  })
}

const lastPlaces = [1, 2, Examples.tokens.length - 1]

export const lastPrompt: Check.Check = {
  theme: "logprobs",
  name: "prompt_logprobs_last_n scores the requested number of positions, from one to all, in every sample",
  why: "One position too few leaves the first token of an answer without a score.",
  run: Effect.gen(function*() {
    const { sampler } = yield* clients
    const params = { maxTokens: 1 }
    const { promptLogprobs: whole = [] } = yield* drawn(sampler, { params, promptLogprobs: true })
    for (const promptLogprobsLastN of lastPlaces) {
      for (const numSamples of [1, 3]) {
        const { promptLogprobs: found = [] } = yield* drawn(sampler, {
          params,
          numSamples,
          promptLogprobs: true,
          promptLogprobsLastN
        })
        const known = Array.from(found).map((value, at) => Number.isNaN(value) ? -1 : at).filter((at) => at >= 0)
        const expected = Arr.makeBy(promptLogprobsLastN, (at) => Examples.tokens.length - promptLogprobsLastN + at)
        yield* Check.expect(known.join() === expected.join(), `scores in places ${expected.join()}`, known.join())
        yield* Check.expectClose(
          "the scores",
          [...found].slice(-promptLogprobsLastN),
          [...whole].slice(-promptLogprobsLastN),
          tolerance
        )
      }
    }
  })
}

export const cached: Check.Check = {
  theme: "sampling",
  name: "the number of cached prompt tokens is at most the prompt's length",
  why: "Cached tokens have a different price, so users check bills with this number.",
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const { sampler } = yield* session
    const id = yield* sampler
    for (const [at, text] of [textOf(40), textOf(40), textOf(3), textOf(40)].entries()) {
      const { body } = yield* Effect.flatMap(
        post("/asample", Examples.sample(id, at, { prompt: Examples.prompt(text) })),
        Blame.expectDone
      )
      const found = body["prompt_cache_hit_tokens"] ?? 0
      yield* Check.expect(
        typeof found === "number" && Number.isInteger(found) && found >= 0 && found <= text.length,
        `0 to ${text.length} tokens`,
        found
      )
    }
  })
}

/** A stop text that no model writes, so only the model's own end-of-sequence token stops the sample. */
const never = "\u0001certify\u0002"

/** Regular expressions that must match only literally. */
const patterns = [".", ".*", "[0-9]", "\\d", "^", "$", "(", "?+", "\\n"]

/** Prefixes, suffixes and inner parts of a text. */
const partsOf = (text: string) =>
  [1, 2, 3, 5, 9].flatMap((length) =>
    [0, 1, Math.floor(text.length / 3), Math.floor(text.length / 2), text.length - length].flatMap((from) =>
      from >= 0 && from + length <= text.length ? [text.slice(from, from + length)] : []
    )
  )

const otherCase = (text: string) => text.toUpperCase() === text ? text.toLowerCase() : text.toUpperCase()

const stopTexts = ({ tokenizer }: Contract.Options): Check.Check => ({
  theme: "sampling",
  name: "a stop string ends a sample exactly at the token that completes it, whatever its length and characters",
  why: "A sample that runs past its stop or ends before it is graded as a different answer.",
  run: Effect.gen(function*() {
    if (tokenizer === undefined) return yield* Check.absent("the model's tokenizer is unknown")
    const { sampler } = yield* clients
    const ask = (prompt: ModelInput.ModelInput, stop: ReadonlyArray<string>) =>
      Effect.map(
        sampler.sample({ prompt, params: { maxTokens: 24, temperature: 0, stop } }),
        ({ sequences: [one] }) => ({ tokens: one?.tokens ?? new Int32Array(), reason: one?.stopReason })
      )
    const texts = [[...Examples.tokens], [3, 3, 3], textOf(30), textOf(12)]
    const all = yield* Effect.forEach(texts, (text) => {
      const prompt = ModelInput.fromTokens(text)
      const before = tokenizer.decode(text)
      return Effect.map(ask(prompt, [never]), ({ tokens }) => ({
        prompt,
        before,
        tokens,
        text: tokenizer.decode(tokens)
      }))
    })
    const longest = all.reduce((one, other) => new Set(other.text).size > new Set(one.text).size ? other : one)
    const stops = [
      ...partsOf(longest.text).filter((part) => !part.includes("\uFFFD")),
      ...partsOf(longest.text).map(otherCase),
      ...patterns,
      longest.before,
      ...partsOf(longest.before),
      `${longest.text.slice(3, 5)}\u0001`
    ]
    for (const stop of new Set(stops)) {
      const { reason, tokens } = yield* ask(longest.prompt, [stop])
      const at = longest.tokens.findIndex((_, at) =>
        tokenizer.decode(longest.tokens.subarray(0, at + 1)).includes(stop)
      )
      const length = at < 0 ? longest.tokens.length : at + 1
      yield* Check.expect(
        tokens.join() === longest.tokens.subarray(0, length).join() && (at < 0 || reason === "stop"),
        `${length} tokens of ${JSON.stringify(longest.text)} up to ${JSON.stringify(stop)}`,
        `${tokens.length}, ${reason}`
      )
    }
  })
})

export const all = (model: Contract.Options): ReadonlyArray<Check.Check> => [
  neighbours,
  wholeContext,
  scoresAside,
  seedsAtOnce,
  smallGroups,
  lastPrompt,
  cached,
  stopTexts(model)
]
