import * as Effect from "effect/Effect"
import * as Datum from "../../model/Datum.ts"
import * as Loss from "../../model/Loss.ts"
import * as ModelInput from "../../model/ModelInput.ts"
import * as Case from "./Case.ts"
import * as Fixture from "./Fixture.ts"

const one = { maxTokens: 1, seed: 11 }

const long = (length: number) => ModelInput.fromTokens(new Int32Array(length).fill(3))

const expectPromptLogprobs = Effect.fnUntraced(function*(logprobs: Float32Array, length: number) {
  yield* Case.expectEqual("logprobs.length", logprobs.length, length)
  yield* Case.expect(Number.isNaN(logprobs[0]), "NaN at the first token", logprobs[0])
  const rest = logprobs.subarray(1)
  yield* Case.expect(rest.every((value) => Number.isFinite(value) && value <= 0), "logprobs of at most 0", rest)
})

const prompts = (options: Fixture.Options): ReadonlyArray<Case.Case> => [
  Case.make(
    "logprobs: computeLogprobs gives one value per token, NaN at the first",
    Fixture.where(
      options,
      ({ promptLogprobs }) => promptLogprobs,
      Effect.gen(function*() {
        const client = yield* Fixture.sampling(options)
        yield* expectPromptLogprobs(yield* client.computeLogprobs(Fixture.input), Fixture.size)
      })
    )
  ),
  Case.make(
    "logprobs: a sample gives those of its prompt on request, equal to computeLogprobs",
    Fixture.where(
      options,
      ({ promptLogprobs }) => promptLogprobs,
      Effect.gen(function*() {
        const client = yield* Fixture.sampling(options)
        const { promptLogprobs } = yield* client.sample({ prompt: Fixture.input, params: one, promptLogprobs: true })
        const found = promptLogprobs ?? new Float32Array()
        yield* expectPromptLogprobs(found, Fixture.size)
        yield* Case.expectClose("promptLogprobs", found, yield* client.computeLogprobs(Fixture.input))
      })
    )
  ),
  Case.make(
    "logprobs: a sample's equal those of computeLogprobs over prompt and sample",
    Fixture.where(
      options,
      ({ promptLogprobs }) => promptLogprobs,
      Effect.gen(function*() {
        const client = yield* Fixture.sampling(options)
        const { sequences } = yield* client.sample({ prompt: Fixture.input, params: { maxTokens: 5, seed: 3 } })
        for (const { logprobs, tokens } of sequences) {
          const scored = yield* client.computeLogprobs(ModelInput.append(Fixture.input, tokens))
          yield* Case.expectClose("logprobs", logprobs, scored.subarray(Fixture.size))
        }
      })
    )
  ),
  Case.make(
    "logprobs: how a prompt is cut into chunks does not matter",
    Fixture.where(
      options,
      ({ promptLogprobs }) => promptLogprobs,
      Effect.gen(function*() {
        const client = yield* Fixture.sampling(options)
        const cut = ModelInput.append(ModelInput.fromTokens([3, 1, 4]), [1, 5, 9, 2])
        const whole = yield* client.computeLogprobs(Fixture.input)
        yield* Case.expectClose("logprobs in two chunks", yield* client.computeLogprobs(cut), whole)
      })
    )
  ),
  Case.make(
    "logprobs: without the capability they are Unsupported",
    Fixture.where(
      options,
      ({ promptLogprobs }) => !promptLogprobs,
      Effect.gen(function*() {
        const client = yield* Fixture.sampling(options)
        yield* Case.expectFailure(client.computeLogprobs(Fixture.input), "Unsupported")
        const ask = client.sample({ prompt: Fixture.input, params: one, promptLogprobs: true })
        yield* Case.expectFailure(ask, "Unsupported")
      })
    )
  )
]

const topk = (options: Fixture.Options): ReadonlyArray<Case.Case> => [
  Case.make(
    "logprobs: the most likely tokens per position, most likely first, none at the first",
    Fixture.where(
      options,
      ({ promptLogprobs, topkPromptLogprobs }) => promptLogprobs && topkPromptLogprobs >= 2,
      Effect.gen(function*() {
        const client = yield* Fixture.sampling(options)
        const ask = { prompt: Fixture.input, params: one, promptLogprobs: true, topkPromptLogprobs: 2 }
        const { promptLogprobs, topkPromptLogprobs: topT = [] } = yield* client.sample(ask)
        yield* Case.expectEqual("topkPromptLogprobs.length", topT.length, Fixture.size)
        for (const [t, candidates] of topT.entries()) {
          yield* Case.expectEqual(`candidates at ${t}`, candidates.length, t === 0 ? 0 : 2)
          const [best, second] = candidates.map(({ logprob }) => logprob)
          if (best === undefined || second === undefined) continue
          yield* Case.expect(best >= second, `most likely first at ${t}`, `${best}, ${second}`)
          const own = promptLogprobs?.[t] ?? NaN
          yield* Case.expect(
            best + Case.tolerance >= own,
            `the prompt's token at ${t} not to beat the best, ${best}`,
            own
          )
        }
      })
    )
  ),
  Case.make(
    "logprobs: more candidates than the capability are Unsupported",
    Effect.gen(function*() {
      const client = yield* Fixture.sampling(options)
      const { topkPromptLogprobs } = yield* Fixture.capabilities(options)
      const ask = { prompt: Fixture.input, params: one, topkPromptLogprobs: topkPromptLogprobs + 1 }
      yield* Case.expectFailure(client.sample(ask), "Unsupported")
    })
  )
]

const context = (options: Fixture.Options): ReadonlyArray<Case.Case> => [
  Case.make(
    "context: prompt and maxTokens may fill it",
    Effect.gen(function*() {
      const client = yield* Fixture.sampling(options)
      const { contextLength } = yield* Fixture.capabilities(options)
      yield* client.sample({ prompt: long(contextLength - 2), params: { maxTokens: 2 } })
    })
  ),
  Case.make(
    "context: one token more is ContextTooLong",
    Effect.gen(function*() {
      const client = yield* Fixture.sampling(options)
      const { contextLength } = yield* Fixture.capabilities(options)
      const ask = client.sample({ prompt: long(contextLength - 1), params: { maxTokens: 2 } })
      yield* Case.expectFailure(ask, "ContextTooLong", String(contextLength))
    })
  ),
  Case.make(
    "context: log-probabilities beyond it are ContextTooLong",
    Fixture.where(
      options,
      ({ promptLogprobs }) => promptLogprobs,
      Effect.gen(function*() {
        const client = yield* Fixture.sampling(options)
        const { contextLength } = yield* Fixture.capabilities(options)
        yield* Case.expectFailure(client.computeLogprobs(long(contextLength + 1)), "ContextTooLong")
      })
    )
  ),
  Case.make(
    "context: training data beyond it are ContextTooLong",
    Effect.gen(function*() {
      const client = yield* Fixture.training(options)
      const { contextLength } = yield* Fixture.capabilities(options)
      const datum = Datum.weightedTokens(long(contextLength + 1), {
        targetTokens: new Int32Array(contextLength + 1).fill(3),
        weights: new Float32Array(contextLength + 1).fill(1)
      })
      yield* Case.expectFailure(Fixture.run(client.forward([datum], Loss.crossEntropy)), "ContextTooLong")
    })
  )
]

/** Cases about prompt log-probabilities and the context length. */
export const cases = (options: Fixture.Options): ReadonlyArray<Case.Case> => [
  ...prompts(options),
  ...topk(options),
  ...context(options)
]
