/** Sampling options at the ends of their ranges, combined, and in concurrent requests. */
import { Tinker } from "@effect-rl/core"
import { Capabilities, ModelInput, type Sampling, type SamplingClient } from "@effect-rl/core/backend"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Check from "../Check.ts"
import * as Draws from "../Draws.ts"
import * as Examples from "../Examples.ts"
import { RawRequests } from "../RawRequests.ts"

/** Rounding tolerance between two ways to compute the same log-probability. */
const tolerance = 0.03

const sampler = Effect.gen(function*() {
  const { model: baseModel } = yield* RawRequests
  const tinker = yield* Tinker.Tinker
  const capabilities = yield* tinker.capabilities(baseModel)
  return { baseModel, capabilities, client: yield* tinker.createSamplingClient({ baseModel }), tinker }
})

const sample = (
  client: SamplingClient.SamplingClient,
  numSamples: number,
  params: Sampling.SamplingParams,
  prompt: ModelInput.ModelInput = Examples.input
) => Effect.map(client.sample({ prompt, numSamples, params }), ({ sequences }) => sequences)

const one = (client: SamplingClient.SamplingClient, params: Sampling.SamplingParams, prompt?: ModelInput.ModelInput) =>
  Effect.flatMap(sample(client, 1, params, prompt), ([found]) =>
    found === undefined
      ? Effect.fail(new Check.Mismatch({ expected: "a sequence", found: "none" }))
      : Effect.succeed(found))

const words = ({ tokens }: { readonly tokens: Int32Array }) => tokens.join(" ")

/** Runs a part of a check that a server may refuse because it limits the option. A refusal counts as absent instead of failed. */
const unlessRefused = <A, E extends Check.Failure, R>(what: string, effect: Effect.Effect<A, E, R>) =>
  Effect.catchIf(
    effect,
    (error) => error._tag === "TinkerError" && error.reason._tag === "Rejected",
    () => Check.absent(`${what} is refused`)
  )

/** A temperature at which almost all tokens are equally likely. */
const hot = 50

/** A `topK` below most vocabulary sizes, and above the number of tokens that servers sort by default. */
const wide = 100

export const wideTopK: Check.Check = {
  theme: "sampling",
  name: "a top_k of 100 draws from exactly 100 tokens",
  why: "A wrong cutoff explores too little or admits the tail.",
  run: Effect.gen(function*() {
    const { client } = yield* sampler
    const distinct = (count: number, more: { readonly topK?: number }) =>
      Effect.map(Draws.first(client, Examples.input, count, { temperature: hot, ...more }), Draws.distinct)
    const found = yield* unlessRefused(`a temperature of ${hot}`, distinct(5 * wide, { topK: wide }))
    yield* Check.expect(
      found.length <= wide && found.length > 0.8 * wide,
      `about ${wide} tokens at temperature ${hot}`,
      found.length
    )
    const least = found.at(-1)?.logprob ?? NaN
    const all = yield* distinct(2 * wide, {})
    const left = all.filter(({ logprob, token }) =>
      logprob > least + tolerance && found.every((other) => other.token !== token)
    )
    yield* Check.expect(left.length < 0.1 * wide, "the likeliest tokens", `${left.length} left out`)
  })
}

export const combined: Check.Check = {
  theme: "sampling",
  name: "top_k and top_p apply together and with a temperature",
  why: "If one option disables another, samples come from the wrong distribution.",
  run: Effect.gen(function*() {
    const { client } = yield* sampler
    const prompt = yield* Draws.openPrompt(client)
    const distinct = (params: Omit<Sampling.SamplingParams, "maxTokens">) =>
      Effect.map(Draws.first(client, prompt, 64, params), Draws.distinct)
    const byK = yield* distinct({ temperature: 2, topK: 3, topP: 0.999 })
    yield* Check.expect(byK.length <= 3, "3 tokens at top_k 3 and top_p 0.999", byK.length)
    const [first] = byK
    const byP = yield* distinct({ topK: wide, topP: Math.min(0.999, Math.exp(first?.logprob ?? 0) * 0.9) })
    yield* Check.expect(byP.length === 1, "the likeliest token at a top_p below its probability", byP.length)
  })
}

/** Tokens with log-probabilities closer than this are drawn about equally often at a low temperature. */
const near = 0.08

export const cold: Check.Check = {
  theme: "sampling",
  name: "a temperature of 0.1 still draws both of two almost equally likely tokens",
  why: "Evaluations at low temperatures need samples. With greedy decoding all answers to a question are equal.",
  run: Effect.gen(function*() {
    const { capabilities: { topkPromptLogprobs: most }, client } = yield* sampler
    if (most < 2) return yield* Check.absent("the server returns no candidates for prompt tokens")
    const { tokens } = yield* one(client, { maxTokens: 160, temperature: 1.5, stop: [] })
    const text = [...Examples.tokens, ...tokens]
    const { topkPromptLogprobs = [] } = yield* client.sample({
      prompt: ModelInput.fromTokens(text),
      params: { maxTokens: 1 },
      promptLogprobs: true,
      topkPromptLogprobs: Math.min(most, 3)
    })
    const gaps = topkPromptLogprobs.map(([best, second]) => (best?.logprob ?? NaN) - (second?.logprob ?? NaN))
    const at = gaps.findIndex((gap) => gap < near)
    const [best, second] = topkPromptLogprobs[at] ?? []
    if (best === undefined || second === undefined) {
      return yield* Check.absent("no position of the text has two almost equally likely tokens")
    }
    const draws = yield* Draws.first(client, ModelInput.fromTokens(text.slice(0, at)), 128, { temperature: 0.1 })
    const seconds = draws.filter(({ token }) => token === second.token).length
    yield* Check.expect(seconds > 0, `token ${second.token} among 128 samples`, "none")
    const others = draws.filter(({ logprob }) => logprob < second.logprob - 2.5).length
    yield* Check.expect(others === 0, "likely tokens alone", `${others} others`)
  })
}

export const many: Check.Check = {
  theme: "sampling",
  name: "the 160 samples of a request are drawn independently",
  why: "A group of identical members has nothing to compare.",
  run: Effect.gen(function*() {
    const { client } = yield* sampler
    const drawn = yield* unlessRefused(
      "a request for 160 samples",
      sample(client, 160, { maxTokens: 12, temperature: 2 })
    )
    yield* Check.expect(drawn.length === 160, "160 samples", drawn.length)
    const distinct = (from: number, to: number) => new Set(drawn.slice(from, to).map(words)).size
    if (distinct(0, 24) < 24) return yield* Check.absent("the next tokens are nearly certain, so samples may be equal")
    yield* Check.expect(distinct(0, 160) > 120, "samples that differ", `${distinct(0, 160)} of 160`)
  })
}

export const long: Check.Check = {
  theme: "sampling",
  name: "max_tokens 600 gives 600 tokens with log-probabilities, and stop tokens also work late in a sample",
  why: "An unrequested limit truncates the longest answers, and late stops are missed.",
  run: Effect.gen(function*() {
    const { capabilities: { contextLength }, client } = yield* sampler
    const maxTokens = Math.min(600, contextLength - Examples.input.length - 1)
    const { logprobs, stopReason, tokens } = yield* one(client, { maxTokens, temperature: 1.5, stop: [] })
    const scored = yield* client.computeLogprobs(ModelInput.append(Examples.input, tokens))
    yield* Check.expectClose("logprobs", logprobs, scored.subarray(Examples.input.length), tolerance)
    yield* Check.expect(
      stopReason === "length" && tokens.length === maxTokens,
      `${maxTokens} tokens, length`,
      `${tokens.length} tokens, ${stopReason}`
    )
    const counts = [...new Set(tokens)].map((token) => [token, tokens.filter((one) => one === token).length] as const)
    const stop = counts.filter(([, count]) => count >= 3 && count <= 8).slice(0, 1).map(([token]) => token)
    if (stop.length === 0) return yield* Check.absent("no token occurs only a few times in a long sample")
    for (const { tokens, stopReason } of yield* sample(client, 4, { maxTokens, temperature: 1.5, stop })) {
      const at = tokens.findIndex((token) => stop.includes(token))
      const isRight = at < 0 ? stopReason === "length" : at === tokens.length - 1 && stopReason === "stop"
      yield* Check.expect(
        isRight,
        `an end at the first token ${stop[0]}`,
        `${tokens.length} tokens, ${stopReason}, ${at}`
      )
    }
  })
}

export const stops: Check.Check = {
  theme: "sampling",
  name: "the last of 40 stop tokens works, and so does a stop token that is drawn first",
  why: "If a long stop list is shortened or an immediate stop is missed, samples run to their limit.",
  run: Effect.gen(function*() {
    const { client } = yield* sampler
    const { tokens: free } = yield* one(client, { maxTokens: 12, temperature: 0, stop: [] })
    const last = free.at(-1) ?? 0
    const others = Arr.makeBy(64, (at) => at).filter((token) => !free.includes(token)).slice(0, 39)
    const expect = Effect.fnUntraced(function*(what: string, stop: ReadonlyArray<number>, length: number) {
      const { stopReason, tokens } = yield* unlessRefused(what, one(client, { maxTokens: 12, temperature: 0, stop }))
      yield* Check.expect(
        tokens.join() === free.subarray(0, length).join() && stopReason === "stop",
        `${free.subarray(0, length).join()}, stop, with ${what}`,
        `${tokens.join()}, ${stopReason}`
      )
    })
    yield* expect("40 stop tokens", [...others, last], free.indexOf(last) + 1)
    yield* expect("the first token as a stop", [free[0] ?? 0], 1)
  })
}

/** Characters that are common in most texts. */
const common = [" ", "e", "a", "\n", "1", ",", "o", "t", "n"]

export const keptString: Check.Check = {
  theme: "sampling",
  name: "the token that completes a stop string is part of the sample and counts toward max_tokens",
  why: "Without that token in the training data, the model forgets to end its answers.",
  run: Effect.gen(function*() {
    const { client } = yield* sampler
    const ask = (stop: string, maxTokens: number) => one(client, { maxTokens, temperature: 0, stop: [stop] })
    for (const stop of common) {
      const { stopReason, tokens } = yield* ask(stop, 24)
      if (stopReason !== "stop" || tokens.length < 2) continue
      const whole = yield* ask(stop, tokens.length)
      yield* Check.expect(
        whole.stopReason === "stop",
        `a stop at ${JSON.stringify(stop)} with max_tokens ${tokens.length}, as with more`,
        `${whole.tokens.length} tokens, ${whole.stopReason}`
      )
      const less = yield* ask(stop, tokens.length - 1)
      return yield* Check.expect(
        less.stopReason === "length" && less.tokens.length === tokens.length - 1,
        `${tokens.length - 1} tokens, length, with a token less`,
        `${less.tokens.length} tokens, ${less.stopReason}`
      )
    }
    return yield* Check.absent("no common character stops a sample")
  })
}

/** Expects equal tokens, except at near ties, which other batch sizes may resolve differently. */
const expectGreedy = (found: Sampling.SampledTokens, expected: Sampling.SampledTokens) => {
  const at = expected.tokens.findIndex((token, index) => found.tokens[index] !== token)
  const isTie = at >= 0 && Math.abs((found.logprobs[at] ?? NaN) - (expected.logprobs[at] ?? NaN)) < tolerance
  return Check.expect(
    isTie || (at < 0 && found.tokens.length === expected.tokens.length),
    `${words(expected)} as alone`,
    words(found)
  )
}

export const atOnce: Check.Check = {
  theme: "sampling",
  name: "concurrent requests keep their own prompts, limits, stops and temperatures",
  why: "Servers batch many requests, and a rollout with another request's options is useless.",
  run: Effect.gen(function*() {
    const { client } = yield* sampler
    const prompts = [
      Examples.input,
      ModelInput.fromTokens([2, 7, 1]),
      ModelInput.fromTokens([9, 9, 8, 5, 6, 1, 2, 3, 4])
    ]
    const { tokens } = yield* one(client, { maxTokens: 12, temperature: 0, stop: [] })
    const asked: ReadonlyArray<readonly [ModelInput.ModelInput, Sampling.SamplingParams]> = [
      [Examples.input, { maxTokens: 12, temperature: 0, stop: [] }],
      [Examples.input, { maxTokens: 12, temperature: 0, stop: [tokens[6] ?? 0] }],
      ...prompts.map((prompt, at) => [prompt, { maxTokens: 5 + at, topK: 1, stop: [] }] as const),
      [Examples.input, { maxTokens: 3, temperature: 0, stop: [] }]
    ]
    const ask = ([prompt, params]: typeof asked[number]) => one(client, params, prompt)
    const alone = yield* Effect.forEach(asked, ask)
    const noise = sample(client, 4, { maxTokens: 16, temperature: 2 })
    const [found] = yield* Effect.all([
      Effect.forEach(asked, ask, { concurrency: "unbounded" }),
      Effect.forEach([1, 2, 3], () => noise, { concurrency: "unbounded" })
    ], { concurrency: "unbounded" })
    for (const [at, together] of found.entries()) {
      const expected = alone[at]
      if (expected !== undefined) yield* expectGreedy(together, expected)
    }
  })
}

const filters: ReadonlyArray<Omit<Sampling.SamplingParams, "maxTokens">> = [
  { temperature: 0 },
  { temperature: 2 },
  { temperature: 0.3, topP: 0.5 },
  { temperature: 1.3, topK: 3 }
]

export const untempered: Check.Check = {
  theme: "logprobs",
  name:
    "sample log-probabilities are the model's own at every temperature, top_k and top_p, also beside prompt_logprobs",
  why: "Importance ratios compare them with the trainer's, which have no temperature.",
  run: Effect.gen(function*() {
    const { client } = yield* sampler
    const prompt = yield* client.computeLogprobs(Examples.input)
    for (const params of filters) {
      const { promptLogprobs = [], sequences } = yield* client.sample({
        prompt: Examples.input,
        numSamples: 2,
        params: { maxTokens: 6, stop: [], ...params },
        promptLogprobs: true
      })
      yield* Check.expectClose("prompt_logprobs", promptLogprobs.slice(1), prompt.slice(1), tolerance)
      for (const { logprobs, tokens } of sequences) {
        const scored = yield* client.computeLogprobs(ModelInput.append(Examples.input, tokens))
        const what = `logprobs of samples at ${JSON.stringify(params)}`
        yield* Check.expectClose(what, logprobs, scored.subarray(Examples.input.length), tolerance)
      }
    }
  })
}

export const pieces: Check.Check = {
  theme: "logprobs",
  name: "a prompt in chunks equals the whole prompt, a single token is a valid prompt, and token 0 is read like others",
  why: "If a chunk is dropped or a token is mistaken for padding, a different question is answered.",
  run: Effect.gen(function*() {
    const { client } = yield* sampler
    const { tokens } = Examples
    const cut = ModelInput.append(
      ModelInput.append(ModelInput.fromTokens(tokens.subarray(0, 2)), tokens.subarray(2, 3)),
      tokens.subarray(3)
    )
    const whole = yield* client.computeLogprobs(Examples.input)
    yield* Check.expectClose(
      "logprobs of chunks",
      (yield* client.computeLogprobs(cut)).slice(1),
      whole.slice(1),
      tolerance
    )
    const greedy: Sampling.SamplingParams = { maxTokens: 8, temperature: 0, stop: [] }
    const [found, expected] = [yield* one(client, greedy, cut), yield* one(client, greedy)].map(words)
    yield* Check.expect(found === expected, `${expected} after the chunks`, found)
    const first = yield* client.sample({
      prompt: ModelInput.fromTokens(tokens.subarray(0, 1)),
      params: { maxTokens: 1 },
      promptLogprobs: true
    })
    yield* Check.expect(
      first.promptLogprobs?.length === 1,
      "1 place of a prompt of 1 token",
      first.promptLogprobs?.length
    )
    const next = (prompt: ReadonlyArray<number>) =>
      Effect.map(client.computeLogprobs(ModelInput.fromTokens([...prompt, 5])), (logprobs) => logprobs.at(-1) ?? NaN)
    const [after, before] = [yield* next([3, 1, 0, 0]), yield* next([3, 1])]
    yield* Check.expect(Math.abs(after - before) > 1e-4, "another log-probability after 3,1,0,0 than after 3,1", after)
  })
}

export const mostCandidates: Check.Check = {
  theme: "logprobs",
  name: "a single candidate of a prompt token is the most likely one, and longer lists are in descending order",
  why: "Distillation reads the teacher's whole list, and a shortened one loses its tail.",
  run: Effect.gen(function*() {
    const { capabilities: { topkPromptLogprobs: most }, client } = yield* sampler
    if (most < 2) return yield* Check.absent("the server returns no candidates for prompt tokens")
    const ask = (topkPromptLogprobs: number) =>
      client.sample({ prompt: Examples.input, params: { maxTokens: 1 }, promptLogprobs: true, topkPromptLogprobs })
    const count = Math.min(most, 20)
    const [few, all] = [yield* ask(1), yield* ask(count)].map(({ topkPromptLogprobs = [] }) => topkPromptLogprobs)
    for (const [at, candidates] of (all ?? []).entries()) {
      if (at === 0) continue
      yield* Check.expect(
        new Set(candidates.map(({ token }) => token)).size === count,
        `${count} candidates in place ${at}`,
        candidates.length
      )
      const isSorted = candidates.every(({ logprob }, rank) => logprob <= (candidates[rank - 1]?.logprob ?? 0) + 1e-4)
      const total = candidates.reduce((sum, { logprob }) => sum + Math.exp(logprob), 0)
      yield* Check.expect(isSorted && total <= 1.01, "the likeliest first, and together at most 1", `together ${total}`)
      const [alone] = few?.[at] ?? []
      const [best] = candidates
      yield* Check.expect(
        few?.[at]?.length === 1 && Math.abs((alone?.logprob ?? NaN) - (best?.logprob ?? NaN)) < tolerance,
        `1 candidate in place ${at}, of ${best?.logprob}`,
        `${few?.[at]?.length}, of ${alone?.logprob}`
      )
    }
  })
}

export const eachSample: Check.Check = {
  theme: "logprobs",
  name: "every sample of a request has candidates for its own tokens",
  why: "If all samples get the candidates of one, distillation learns the wrong tokens.",
  run: Effect.gen(function*() {
    const { capabilities: { topkPromptLogprobs: most }, client } = yield* sampler
    if (most < 2) return yield* Check.absent("the server returns no candidates for prompt tokens")
    const { sequences } = yield* client.sample({
      prompt: Examples.input,
      numSamples: 3,
      params: { maxTokens: 6, temperature: 1.5, stop: [] },
      topkSampleLogprobs: 2
    })
    for (const { tokens, topkLogprobs = [] } of sequences) {
      const { topkPromptLogprobs = [] } = yield* client.sample({
        prompt: ModelInput.append(Examples.input, tokens),
        params: { maxTokens: 1 },
        promptLogprobs: true,
        topkPromptLogprobs: 2
      })
      const flat = (topT: typeof topkLogprobs) => topT.flatMap((top) => top.map(({ logprob }) => logprob))
      const expected = flat(topkPromptLogprobs.slice(Examples.input.length))
      yield* Check.expectClose("candidates", flat(topkLogprobs), expected, tolerance)
    }
  })
}

export const severalTargets: Check.Check = {
  theme: "logprobs",
  name: "two targets at a position are scored separately, and −1 means no target",
  why: "Distillation scores the teacher's candidates, and their number varies by position.",
  run: Effect.gen(function*() {
    const { client } = yield* sampler
    const rest = Examples.tokens.subarray(1)
    const tokens = Int32Array.from([...rest].flatMap((token, at) => [at % 2 === 0 ? token : -1, 7]))
    const { promptLogprobs = new Float32Array(), targetPromptLogprobs } = yield* client.sample({
      prompt: Examples.input,
      params: { maxTokens: 1 },
      promptLogprobs: true,
      targetPromptLogprobs: { tokens, candidates: 2 }
    })
    const found = targetPromptLogprobs?.logprobs ?? new Float32Array()
    yield* Check.expect(found.length === tokens.length, `${tokens.length} log-probabilities`, found.length)
    for (const at of rest.keys()) {
      const expected = at % 2 === 0 ? promptLogprobs[at + 1] ?? NaN : 0
      yield* Check.expectClose(`the first target in place ${at + 1}`, [found[2 * at] ?? NaN], [expected], tolerance)
      const other = yield* client.computeLogprobs(ModelInput.fromTokens([...Examples.tokens.subarray(0, at + 1), 7]))
      yield* Check.expectClose(
        `the second target in place ${at + 1}`,
        [found[2 * at + 1] ?? NaN],
        other.subarray(-1),
        tolerance
      )
    }
  })
}

/** Seeds that are equal if only some of their digits or bits are read. */
const seeds = [1, 2, 11, 101, 257, 1001, 65537, 2 ** 24 + 1, 2 ** 31 - 1]

export const manySeeds: Check.Check = {
  theme: "seeds",
  name: "every seed has its own samples: equal for another sampler, different at other temperatures",
  why: "Seeds distinguish the groups of a run, and repeat a run in another session.",
  run: Effect.gen(function*() {
    const { baseModel, capabilities: { seeds: promised }, client, tinker } = yield* sampler
    if (!Capabilities.promise(promised, "request")) {
      return yield* Check.absent("the same seed does not repeat its samples")
    }
    const ask = (from: SamplingClient.SamplingClient, seed: number, params: Partial<Sampling.SamplingParams> = {}) =>
      Effect.map(one(from, { maxTokens: 16, temperature: 1.5, stop: [], seed, ...params }), words)
    const found = yield* Effect.forEach(seeds, (seed) => ask(client, seed), { concurrency: 4 })
    yield* Check.expect(new Set(found).size === seeds.length, `${seeds.length} different samples`, found.join("; "))
    const other = yield* tinker.createSamplingClient({ baseModel })
    const [first = ""] = found
    const again = yield* ask(other, 1)
    yield* Check.expect(again === first, `${first} of another sampler`, again)
    const short = yield* ask(client, 1, { maxTokens: 4 })
    yield* Check.expect(short.split(" ").length === 4, "4 tokens of the same seed", short)
    const greedy = yield* Effect.forEach([1, 2], (seed) => ask(client, seed, { temperature: 0 }))
    yield* Check.expect(greedy[0] === greedy[1] && greedy[0] !== first, "the likeliest tokens at temperature 0", greedy)
  })
}

export const all = [
  wideTopK,
  combined,
  cold,
  many,
  long,
  stops,
  keptString,
  atOnce,
  untempered,
  pieces,
  mostCandidates,
  eachSample,
  severalTargets,
  manySeeds
]
