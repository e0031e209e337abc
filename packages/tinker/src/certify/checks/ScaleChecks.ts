/** Rules that hold for a few tokens must also hold at lengths, counts and sizes at which servers switch to other code paths. */
import { Loss, PolicyLoss, Tinker } from "@effect-rl/core"
import { ModelInput, type SamplingClient } from "@effect-rl/core/backend"
import { LossExpression } from "@effect-rl/core/losses"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Check from "../Check.ts"
import * as Draws from "../Draws.ts"
import * as Examples from "../Examples.ts"
import { RawRequests } from "../RawRequests.ts"
import * as StateTwins from "../StateTwins.ts"

/** Rounding tolerance between two ways to compute the same log-probability. */
const tolerance = 0.03

const descent = 0.3

/** The length `most`, which is above the block and chunk sizes of servers, or half of the context if that is shorter. */
const lengthOf = (most: number) =>
  Effect.gen(function*() {
    const { model } = yield* RawRequests
    const { contextLength } = yield* Tinker.Tinker.use(({ capabilities }) => capabilities(model))
    return Math.min(most, Math.floor(contextLength / 2))
  })

const samplerOf = Effect.gen(function*() {
  const { model: baseModel } = yield* RawRequests
  return yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ baseModel }))
})

/** A text sampled from the model, with tokens from its whole vocabulary. */
const written = Effect.fnUntraced(function*(client: SamplingClient.SamplingClient, length: number) {
  let text = Examples.input
  for (let seed = 1; text.length < length && seed < length; seed++) {
    const { sequences: [one] } = yield* client.sample({
      prompt: text,
      params: { maxTokens: length - text.length, temperature: 1.5, seed }
    })
    text = ModelInput.fromTokens([...tokensOf(text), ...(one?.tokens ?? [])])
  }
  return tokensOf(text)
})

const tokensOf = ({ chunks }: ModelInput.ModelInput) =>
  chunks.flatMap((chunk) => chunk._tag === "EncodedText" ? [...chunk.tokens] : [])

export const longText: Check.Check = {
  theme: "logprobs",
  name: "trainer and sampler agree at every position of a long text",
  why: "Errors that occur only in long texts spoil the longest rollouts, and short tests miss them.",
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const client = yield* samplerOf
    const text = yield* written(client, yield* lengthOf(300))
    const scored = yield* client.computeLogprobs(ModelInput.fromTokens(text))
    const trainer = yield* Tinker.Tinker.use((tinker) => tinker.createLoraTrainingClient({ baseModel, loraRank: 8 }))
    const { logprobs: [found = new Float32Array()] } = yield* StateTwins.run(
      trainer.forward([Examples.ofText(text)], Loss.crossEntropy)
    )
    yield* Check.expectClose("the trainer's", found, scored.subarray(1), tolerance)
  })
}

export const longSample: Check.Check = {
  theme: "sampling",
  name: "a long sample after a long prompt has the right length and the log-probabilities of the whole text",
  why: "A prompt that loses its beginning is answered anyway, and the reward is for a different question.",
  run: Effect.gen(function*() {
    const client = yield* samplerOf
    const length = yield* lengthOf(200)
    const prompt = ModelInput.fromTokens(yield* written(client, length))
    const { sequences } = yield* client.sample({ prompt, numSamples: 4, params: { maxTokens: length, stop: [] } })
    for (const { logprobs, stopReason, tokens } of sequences) {
      const isWhole = stopReason === "length" ? tokens.length === length : tokens.length <= length
      yield* Check.expect(isWhole, `${length} tokens, or a stop`, `${tokens.length}, ${stopReason}`)
      const scored = yield* client.computeLogprobs(ModelInput.append(prompt, tokens))
      yield* Check.expectClose("logprobs", logprobs, scored.subarray(prompt.length), tolerance)
    }
  })
}

/** Samples long sequences, and returns what `see` finds for each token, given the most likely tokens at the token's position. */
const drawnAlong = Effect.fnUntraced(function*(
  params: { readonly temperature?: number; readonly topK?: number; readonly topP?: number },
  see: (
    candidates: ReadonlyArray<Draws.Draw>,
    token: number,
    position: number
  ) => ReadonlyArray<Draws.Counted> | undefined
) {
  const { model } = yield* RawRequests
  const { topkPromptLogprobs: most } = yield* Tinker.Tinker.use(({ capabilities }) => capabilities(model))
  if (most < 5) return yield* Check.absent("the server returns no candidates for prompt tokens")
  const client = yield* samplerOf
  const { sequences } = yield* client.sample({
    prompt: Examples.input,
    numSamples: 24,
    params: { maxTokens: 64, ...params }
  })
  const seen = yield* Effect.forEach(sequences, ({ tokens }) =>
    Effect.map(
      client.sample({
        prompt: ModelInput.append(Examples.input, tokens),
        params: { maxTokens: 1 },
        promptLogprobs: true,
        topkPromptLogprobs: Math.min(most, 20)
      }),
      ({ topkPromptLogprobs = [] }) =>
        [...tokens].map((token, at) => see(topkPromptLogprobs[Examples.input.length + at] ?? [], token, at))
    ), { concurrency: 4 })
  return seen.flat().filter((one) => one !== undefined)
})

const late =
  "If parameters apply only to the first tokens, the rest of a long answer comes from the wrong distribution."

export const along: Check.Check = {
  theme: "sampling",
  name: "tokens throughout a long sample are drawn as often as their log-probabilities say",
  why: late,
  run: Effect.gen(function*() {
    const counted = yield* drawnAlong({ temperature: 1 }, (candidates, token) => {
      const top = candidates.slice(0, 5).map(({ logprob, token: one }) => ({
        probability: Math.exp(logprob),
        count: one === token ? 1 : 0
      }))
      const rest = 1 - top.reduce((sum, { probability }) => sum + probability, 0)
      const isOther = top.every(({ count }) => count === 0)
      return rest < 0.01 ? undefined : [...top, { probability: rest, count: isOther ? 1 : 0 }]
    })
    yield* Draws.expectDistributions("tokens", counted)
  })
}

export const temperedAlong: Check.Check = {
  theme: "sampling",
  name: "temperature and top_k apply to every token of a long sample",
  why: late,
  run: Effect.gen(function*() {
    let outside = 0
    const counted = yield* drawnAlong({ temperature: 2, topK: 2 }, ([first, second, third], token) => {
      if (first === undefined || second === undefined || third === undefined) return undefined
      if (second.logprob - third.logprob < tolerance) return undefined
      if (token !== first.token && token !== second.token) outside++
      return Draws.counted([first, second], [{ token, logprob: 0 }], (logprob) => Math.exp(logprob / 2))
    })
    yield* Check.expect(outside === 0, "the two most likely tokens in every place", `${outside} others`)
    yield* Draws.expectDistributions("the two most likely tokens", counted)
  })
}

export const nucleusAlong: Check.Check = {
  theme: "sampling",
  name: "top_p applies to every token of a long sample",
  why: late,
  run: Effect.gen(function*() {
    let outside = 0
    yield* drawnAlong({ temperature: 1, topP: 0.5 }, (candidates, token) => {
      const at = candidates.findIndex((one) => one.token === token)
      const before = candidates.slice(0, at < 0 ? undefined : at).reduce(
        (sum, { logprob }) => sum + Math.exp(logprob),
        0
      )
      if (before > 0.5 + tolerance) outside++
      return undefined
    })
    yield* Check.expect(outside === 0, "the fewest most likely tokens that reach a half", `${outside} others`)
  })
}

/** Trained positions: start, end, and the length of the text. */
const blocks = [[0, 8, 141], [62, 72, 73], [126, 140, 141], [190, 200, 201], [540, 556, 560]] as const

export const longData: Check.Check = {
  theme: "gradients",
  name: "late positions of a long datum contribute to the gradient",
  why: "Rollouts often earn their reward at the end.",
  run: Effect.gen(function*() {
    const client = yield* samplerOf
    const text = yield* written(client, yield* lengthOf(560))
    const twins = yield* StateTwins.make
    for (const [from, to, length] of blocks.filter(([, to]) => to < text.length)) {
      const datum = Examples.ofText(text.slice(0, length), (at) => at >= from && at < to ? 1 : 0)
      const submit: StateTwins.Submit = (trainer) => trainer.forwardBackward([datum], Loss.crossEntropy)
      const gradNorm = yield* twins.gradNorm(submit)
      if (gradNorm === undefined) return yield* Check.absent("optim_step does not report grad_norm")
      yield* Check.expect(gradNorm > 0, `a gradient of positions ${from} to ${to - 1}`, gradNorm)
      const fall = yield* twins.fall(
        submit,
        descent / (gradNorm * gradNorm),
        (trainer) => trainer.forward([datum], Loss.crossEntropy)
      )
      yield* Check.expectClose(`the fall of the loss at positions ${from} to ${to - 1}`, [fall], [descent], descent / 2)
    }
  })
}

export const manyData: Check.Check = {
  theme: "gradients",
  name: "each of many datums in a pass has an output and a gradient",
  why: "Data dropped from large batches are billed anyway, and bias what is learned.",
  run: Effect.gen(function*() {
    const twins = yield* StateTwins.make
    const silent = Examples.weighted(Examples.full(0))
    const others = (count: number) => Arr.makeBy(count, () => silent)
    const alone: StateTwins.Submit = (client) => client.forwardBackward([Examples.weighted()], Loss.crossEntropy)
    const gradNorm = yield* twins.gradNorm(alone)
    if (gradNorm === undefined) return yield* Check.absent("optim_step does not report grad_norm")
    const learningRate = descent / (gradNorm * gradNorm)
    const expected = yield* twins.moved(alone, learningRate)
    for (const before of [9, 40, 140]) {
      const found = yield* twins.moved(
        (client) => client.forwardBackward([silent, ...others(before - 1), Examples.weighted()], Loss.crossEntropy),
        learningRate
      )
      const { length } = found.output.logprobs
      yield* Check.expect(length === before + 1, `${before + 1} outputs`, length)
      yield* StateTwins.expectSameStep(`the step of datum ${before}`, found, expected)
    }
  })
}

export const manyPasses: Check.Check = {
  theme: "gradients",
  name: "the gradients of many passes add up, whatever requests come between them and their step",
  why: "Large batches come in many passes, while checkpoints are saved and evaluations run.",
  run: Effect.gen(function*() {
    const twins = yield* StateTwins.make
    const one: StateTwins.Submit = (client) => client.forwardBackward([Examples.weighted()], Loss.crossEntropy)
    const gradNorm = yield* twins.gradNorm(one)
    if (gradNorm === undefined) return yield* Check.absent("optim_step does not report grad_norm")
    const learningRate = descent / (gradNorm * gradNorm)
    const expected = yield* twins.moved(one, learningRate)
    const many: StateTwins.Submit = (client) =>
      Effect.andThen(
        Effect.forEach(Arr.range(1, 11), () => one(client), { discard: true }),
        one(client)
      )
    const added = yield* twins.moved(many, learningRate / 12)
    yield* StateTwins.expectSameStep("a twelfth of the step of 12", added, expected)
    const between: StateTwins.Submit = Effect.fnUntraced(function*(client) {
      const pass = yield* one(client)
      yield* StateTwins.run(client.forward([Examples.weighted(Examples.full(-3))], Loss.crossEntropy))
      yield* StateTwins.run(client.saveState("certify-between"))
      yield* StateTwins.run(client.saveWeightsForSampler("certify-between"))
      yield* Effect.scoped(client.saveWeightsAndGetSamplingClient)
      return pass
    })
    const found = yield* twins.moved(between, learningRate)
    yield* StateTwins.expectSameStep("the step after other requests", found, expected)
  })
}

/** Tokens far from the sampler, with large and small advantages. */
const far = {
  drifts: [3, 2.5, -3, 2, -2, 1, -1],
  advantages: Float32Array.of(0.5, -1.5, 4, 0.01, -6, 12, -0.3)
}

/** Compares a named loss with the cross entropy of its gradient, computed in float64, for large ratios and advantages. */
const farFromSampler = (
  loss: Loss.Loss<"PolicyTokens">,
  expression: LossExpression.LossExpression
): Check.Check => ({
  theme: "gradients",
  name: `${loss.name} has the value and the gradient of its formula far from the sampler, for large advantages`,
  why: "Unrequested bounds on ratios or advantages change the largest updates.",
  run: Effect.gen(function*() {
    const twins = yield* StateTwins.make
    const datum = Examples.drifted(twins.logprobs, far)
    const { gradient, loss: value } = yield* Effect.orDie(
      Effect.fromResult(LossExpression.evaluate(expression, datum, twins.logprobs))
    )
    const byGradient: StateTwins.Submit = (client) =>
      client.forwardBackward([Examples.weighted(Float32Array.from(gradient, (slope) => -slope))], Loss.crossEntropy)
    const gradNorm = yield* twins.gradNorm(byGradient)
    if (gradNorm === undefined) return yield* Check.absent("optim_step does not report grad_norm")
    const learningRate = descent / (gradNorm * gradNorm)
    const scale = Math.sqrt(gradNorm)
    const found = yield* twins.moved((client) => client.forwardBackward([datum], loss), learningRate * scale)
    const expected = yield* twins.moved(byGradient, learningRate * scale)
    const largest = Math.max(...expected.changeT.map(Math.abs))
    yield* Check.expectClose(
      "loss:sum",
      [found.output.metrics["loss:sum"] ?? NaN],
      [value],
      0.02 * Math.abs(value) + 0.5
    )
    yield* Check.expectClose("the step", found.changeT, expected.changeT, 0.05 * largest + 2e-3)
  })
})

export const snapshots: Check.Check = {
  theme: "checkpoints",
  name: "every snapshot keeps its weights, and the base model is unchanged",
  why: "Rollouts from outdated weights are silently off-policy.",
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const base = yield* samplerOf
    const text = ModelInput.append(Examples.input, Examples.targetTokens.subarray(-1))
    const before = yield* base.computeLogprobs(text)
    const client = yield* Tinker.Tinker.use((tinker) => tinker.createLoraTrainingClient({ baseModel, loraRank: 8 }))
    for (const round of [1, 2, 3]) {
      yield* StateTwins.run(client.forwardBackward([Examples.weighted()], Loss.crossEntropy))
      yield* StateTwins.run(client.optimStep({ learningRate: Examples.learningRate }))
      const trained = yield* StateTwins.logprobsOf(client)
      const sampler = yield* client.saveWeightsAndGetSamplingClient
      const found = yield* sampler.computeLogprobs(text)
      yield* Check.expectClose(`logprobs of snapshot ${round}`, found.subarray(1), trained, tolerance)
    }
    yield* Check.expectClose(
      "logprobs of the base model",
      (yield* base.computeLogprobs(text)).subarray(1),
      before.subarray(1),
      tolerance
    )
  })
}

export const together: Check.Check = {
  theme: "training",
  name: "models trained at the same time learn the same as alone",
  why: "Tenants share servers, and sweeps train many adapters at once.",
  run: Effect.gen(function*() {
    const twins = yield* StateTwins.make
    const ask = (weight: number) =>
      twins.moved(
        (client) => client.forwardBackward([Examples.weighted(Examples.full(weight))], Loss.crossEntropy),
        0.01
      )
    const weights = [1, -1, 0.5, 2]
    const alone = yield* Effect.forEach(weights, ask)
    const found = yield* Effect.forEach(weights, ask, { concurrency: 4 })
    for (const [at, { changeT }] of found.entries()) {
      yield* Check.expectClose(`the step of model ${at}`, changeT, alone[at]?.changeT ?? [], 0.01)
    }
  })
}

export const zeroSeed: Check.Check = {
  theme: "seeds",
  name: "seed 0 is not treated as missing",
  why: "A run with seed 0, often the first of a sweep, could not be repeated.",
  run: Effect.gen(function*() {
    const { model } = yield* RawRequests
    const { seeds } = yield* Tinker.Tinker.use(({ capabilities }) => capabilities(model))
    if (seeds === "none") return yield* Check.absent("the server ignores seeds")
    const client = yield* samplerOf
    const ask = (seed: number) =>
      Effect.map(
        client.sample({ prompt: Examples.input, params: { maxTokens: 24, temperature: 1.5, seed } }),
        ({ sequences }) => sequences.map(({ tokens }) => tokens.join(" ")).join("; ")
      )
    const [one, again, other] = [yield* ask(0), yield* ask(0), yield* ask(2 ** 31)]
    yield* Check.expect(one === again, one, again)
    yield* Check.expect(one !== other, "other samples of seed 2³¹", one)
  })
}

export const all = [
  longText,
  longSample,
  along,
  temperedAlong,
  nucleusAlong,
  longData,
  manyData,
  manyPasses,
  farFromSampler(Loss.importanceSampling, PolicyLoss.importanceSampling),
  farFromSampler(Loss.ppo(), PolicyLoss.ppo()),
  snapshots,
  together,
  zeroSeed
]
