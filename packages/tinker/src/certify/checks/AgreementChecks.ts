/** Sampling requests with pseudo-random options. Every answer must agree with all other ways to request the same. */
import { Loss, Tinker } from "@effect-rl/core"
import { Capabilities, ModelInput, type Sampling, type SamplingClient } from "@effect-rl/core/backend"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Chance from "../Chance.ts"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import { RawRequests } from "../RawRequests.ts"
import * as StateTwins from "../StateTwins.ts"

/** Rounding tolerance between two ways to compute the same log-probability; it grows with the logits. */
const toleranceOf = (logprobs: ArrayLike<number>) => 0.03 + 0.004 * Math.max(0, ...Array.from(logprobs, Math.abs))

interface Asked {
  readonly text: ReadonlyArray<number>
  readonly numSamples: number
  readonly params: Sampling.SamplingParams
}

const lengths = [1, 2, 7, 15, 16, 17, 31, 33, 64, 90] as const

const asked = (stream: number): Asked => {
  const temperature = Chance.one(stream, 0, [0, 0.6, 1, 1, 1.5, 3])
  return {
    text: Arr.makeBy(Chance.one(stream, 1, lengths), (at) => Chance.whole(stream, 100 + at, 0, 30)),
    numSamples: Chance.whole(stream, 2, 1, 4),
    params: {
      maxTokens: Chance.one(stream, 3, [1, 2, 5, 12, 20, 33]),
      temperature,
      topK: Chance.one(stream, 4, [-1, 1, 2, 5, 15]),
      topP: temperature === 1 ? Chance.one(stream, 5, [1, 0.3, 0.7, 0.95]) : 1,
      seed: Chance.whole(stream, 6, 0, 1_000_000),
      stop: Arr.makeBy(Chance.one(stream, 7, [0, 0, 1, 4]), (at) => Chance.whole(stream, 200 + at, 0, 40))
    }
  }
}

const words = ({ tokens }: { readonly tokens: Int32Array }) => tokens.join(" ")

const ask = (client: SamplingClient.SamplingClient, { numSamples, params, text }: Asked, promptLogprobs = false) =>
  client.sample({ prompt: ModelInput.fromTokens(text), numSamples, params, promptLogprobs })

/** Expects that the sample ends exactly where its stops and its limit require. */
const expectEnd = (what: string, { params: { maxTokens, stop = [] } }: Asked, found: Sampling.SampledTokens) => {
  const stops: ReadonlyArray<unknown> = stop
  const at = found.tokens.findIndex((token) => stops.includes(token))
  const length = at < 0 ? maxTokens : Math.min(at + 1, maxTokens)
  return Check.expect(
    found.tokens.length === length && found.logprobs.length === length &&
      found.stopReason === (at < 0 ? "length" : "stop"),
    `${length} tokens, ${at < 0 ? "length" : "stop"} with ${what}`,
    `${found.tokens.length} tokens and ${found.logprobs.length} log-probabilities, ${found.stopReason}`
  )
}

/** Expects every token to be among those that the options leave at its position. */
const expectKept = (
  what: string,
  { params: { temperature, topK = -1, topP = 1 } }: Asked,
  found: Sampling.SampledTokens,
  candidatesT: ReadonlyArray<ReadonlyArray<Sampling.TokenLogprob>>
) => {
  const wrong = found.logprobs.findIndex((logprob, at) => {
    const candidates = candidatesT[at] ?? []
    const best = candidates[0]?.logprob ?? NaN
    const least = candidates[topK - 1]?.logprob ?? -Infinity
    const before = candidates.filter((one) => one.logprob > logprob + 0.02)
      .reduce((sum, one) => sum + Math.exp(one.logprob), 0)
    const isBest = logprob >= best - 0.03
    return (temperature === 0 && !isBest) || (topK > 0 && logprob < least - 0.03) || before >= topP + 0.02
  })
  return Check.expect(
    wrong < 0,
    `tokens that the options leave with ${what}`,
    `token ${found.tokens[wrong]} in place ${wrong}`
  )
}

const rounds = 36

/** A trainer after one step, two sampling clients of its weights, and the capabilities of its base model. */
const trained = Effect.gen(function*() {
  const { model: baseModel } = yield* RawRequests
  const tinker = yield* Tinker.Tinker
  const trainer = yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 8, seed: 1 })
  yield* StateTwins.run(trainer.forwardBackward([Examples.weighted(Examples.full(-1))], Loss.crossEntropy))
  yield* StateTwins.run(trainer.optimStep({ learningRate: 0.01 }))
  const { path: modelPath } = yield* StateTwins.run(trainer.saveWeightsForSampler("certify-agreed"))
  const client = yield* tinker.createSamplingClient({ modelPath })
  const again = yield* tinker.createSamplingClient({ modelPath })
  const capabilities = yield* tinker.capabilities(baseModel)
  return { trainer, client, again, capabilities }
})

export const scored: Check.Check = {
  theme: "sampling",
  name:
    "samples with random options end as required, contain only allowed tokens, and have the trainer's log-probabilities",
  why: "Options that work alone may fail in combination or after certain prompts, and no other check tries every pair.",
  run: Effect.gen(function*() {
    const { capabilities: { topkPromptLogprobs: most }, client, trainer } = yield* trained
    for (let stream = 0; stream < rounds; stream++) {
      const one = asked(stream)
      const { length } = one.text
      const what = JSON.stringify([length, one.numSamples, one.params])
      const { promptLogprobs, sequences } = yield* ask(client, one, stream % 2 === 0)
      yield* Check.expect(sequences.length === one.numSamples, `${one.numSamples} samples`, sequences.length)
      for (const found of sequences) {
        yield* expectEnd(what, one, found)
        const text = [...one.text, ...found.tokens]
        const { logprobs: [expected = new Float32Array()] } = yield* StateTwins.run(
          trainer.forward([Examples.ofText(text)], Loss.crossEntropy)
        )
        const tolerance = toleranceOf(expected)
        yield* Check.expectClose(
          `logprobs of samples with ${what}`,
          found.logprobs,
          expected.subarray(length - 1),
          tolerance
        )
        if (promptLogprobs !== undefined) {
          const prompt = expected.subarray(0, length - 1)
          yield* Check.expectClose(`prompt_logprobs with ${what}`, promptLogprobs.slice(1), prompt, tolerance)
        }
        if (most < 15) continue
        const { topkPromptLogprobs = [] } = yield* client.sample({
          prompt: ModelInput.fromTokens(text),
          params: { maxTokens: 1 },
          promptLogprobs: true,
          topkPromptLogprobs: 15
        })
        yield* expectKept(what, one, found, topkPromptLogprobs.slice(length))
      }
    }
  })
}

export const repeated: Check.Check = {
  theme: "seeds",
  name: "samples with random options and a seed repeat exactly: alone, from another sampler, and beside other requests",
  why: "Runs are repeated by their seeds, whatever their options and whatever else the server is doing.",
  run: Effect.gen(function*() {
    const { again, capabilities: { seeds }, client } = yield* trained
    if (!Capabilities.promise(seeds, "request")) return yield* Check.absent("the same seed does not repeat its samples")
    const all = Arr.makeBy(rounds, (at) => asked(1000 + at))
    const of = (from: SamplingClient.SamplingClient, one: Asked) =>
      Effect.map(ask(from, one), ({ sequences }) => sequences.map((found) => `${words(found)}, ${found.stopReason}`))
    const alone = yield* Effect.forEach(all, (one) => of(client, one))
    const together = yield* Effect.forEach(all, (one) => of(again, one), { concurrency: 8 })
    // Other batch sizes may resolve near ties differently.
    const others = together.filter((found, at) => found.join("; ") !== alone[at]?.join("; ")).length
    yield* Check.expect(others <= rounds / 12, "the same samples from another sampler", `${others} others`)
    if (!Capabilities.promise(seeds, "sample")) return
    let apart = 0
    for (const [at, { numSamples, params, text }] of all.entries()) {
      const last = numSamples - 1
      const single = { text, numSamples: 1, params: { ...params, seed: (params.seed ?? 0) + last } }
      const [found] = yield* of(client, single)
      if (found !== alone[at]?.[last]) apart++
    }
    yield* Check.expect(
      apart <= rounds / 12,
      "the last sample of each request equal to a single sample with its seed",
      `${apart} others`
    )
  })
}

/** Sampling requests that also ask for pseudo-random numbers of candidates and of scored prompt tokens. */
export const aside: Check.Check = {
  theme: "logprobs",
  name: "candidates, targets and last-n scores of random requests equal those of the whole text",
  why: "Distillation reads thousands of these lists, and nobody notices if a few are short or shifted.",
  run: Effect.gen(function*() {
    const { capabilities: { sampling = [], topkPromptLogprobs: most }, client } = yield* trained
    if (most < 10) return yield* Check.absent("the server returns fewer than 10 candidates per prompt token")
    const candidatesOf = (text: ReadonlyArray<number>, count: number) =>
      Effect.map(
        client.sample({
          prompt: ModelInput.fromTokens(text),
          params: { maxTokens: 1 },
          promptLogprobs: true,
          topkPromptLogprobs: count
        }),
        ({ topkPromptLogprobs = [] }) => topkPromptLogprobs
      )
    const flat = (topT: ReadonlyArray<ReadonlyArray<Sampling.TokenLogprob>>) =>
      topT.flatMap((top) => top.map(({ logprob }) => logprob))
    for (let stream = 2000; stream < 2016; stream++) {
      const one = asked(stream)
      const prompt = ModelInput.fromTokens(one.text)
      const count = Chance.whole(stream, 10, 1, 9)
      const lastN = Chance.whole(stream, 11, 1, Math.max(1, one.text.length - 1))
      const what = JSON.stringify([one.text.length, one.numSamples, one.params, count, lastN])
      const found = yield* client.sample({
        prompt,
        numSamples: one.numSamples,
        params: one.params,
        ...(sampling.includes("topkSampleLogprobs") ? { topkSampleLogprobs: count } : {}),
        ...(sampling.includes("promptLogprobsLastN") && one.text.length > 1
          ? { promptLogprobs: true, promptLogprobsLastN: lastN }
          : {})
      })
      for (const { tokens, topkLogprobs } of found.sequences) {
        if (topkLogprobs === undefined) continue
        const expected = flat((yield* candidatesOf([...one.text, ...tokens], count)).slice(one.text.length))
        yield* Check.expectClose(
          `candidates of samples with ${what}`,
          flat(topkLogprobs),
          expected,
          toleranceOf(expected)
        )
      }
      const whole = yield* client.computeLogprobs(prompt)
      const { promptLogprobs } = found
      if (promptLogprobs !== undefined) {
        const [last, expected] = [promptLogprobs.slice(-lastN), whole.slice(-lastN)].map((all) =>
          all.map((value) => Number.isNaN(value) ? 1 : value)
        )
        yield* Check.expectClose(
          `the last ${lastN} prompt_logprobs`,
          last ?? [],
          expected ?? [],
          toleranceOf(expected ?? [])
        )
      }
      if (one.text.length < 2 || !sampling.includes("targetPromptLogprobs")) continue
      const wide = yield* candidatesOf(one.text, 10)
      const picked = wide.slice(1).map((candidates, at) => candidates[Chance.whole(stream, 300 + at, 0, 9)])
      const { targetPromptLogprobs } = yield* client.sample({
        prompt,
        params: { maxTokens: 1 },
        targetPromptLogprobs: { tokens: Int32Array.from(picked, (target) => target?.token ?? -1), candidates: 1 }
      })
      const expected = picked.map((target) => target?.logprob ?? 0)
      const targets = targetPromptLogprobs?.logprobs ?? []
      yield* Check.expectClose(`targets in a prompt of ${one.text.length}`, targets, expected, toleranceOf(expected))
    }
  })
}

export const all = [scored, repeated, aside]
