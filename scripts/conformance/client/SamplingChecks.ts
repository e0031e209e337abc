/** What a sampler should answer. */
import { ModelInput, type Sampling, type SamplingClient, type Tinker, type TinkerError } from "@effect-rl/core"
import { Effect, type Scope } from "effect"
import { type Check, check, close, expect, orRefused } from "./Check.ts"

const prompt = ModelInput.fromTokens([12, 7, 9, 31, 5])

const sampled = (client: SamplingClient.SamplingClient, params: Partial<Sampling.SamplingParams>, numSamples = 1) =>
  Effect.map(
    client.sample({ prompt, numSamples, params: { maxTokens: 6, stop: noStop, ...params } }),
    ({ sequences }) =>
      sequences.map(({ logprobs, stopReason, tokens }) => ({ logprobs, stopReason, tokens: [...tokens] }))
  )

/** A token that these models do not say; without any stop some servers warn. */
const noStop = [511]

const distinct = (sequences: ReadonlyArray<{ readonly tokens: ReadonlyArray<number> }>) =>
  new Set(sequences.map(({ tokens }) => tokens.join())).size

export const checks = (
  sampler: Effect.Effect<SamplingClient.SamplingClient, TinkerError.TinkerError, Tinker.Tinker | Scope.Scope>
): ReadonlyArray<Check> => [
  check(
    "sampling: as many sequences as asked for, of as many tokens, with their log-probabilities",
    Effect.gen(function*() {
      const sequences = yield* sampled(yield* sampler, { temperature: 0 }, 3)
      yield* expect(sequences.length === 3, `${sequences.length} sequences`)
      for (const { logprobs, stopReason, tokens } of sequences) {
        yield* expect(tokens.length === 6 && stopReason === "length", `${tokens.length} tokens, ${stopReason}`)
        yield* expect(logprobs.every((one) => one <= 0), `log-probabilities are ${logprobs}`)
      }
    })
  ),
  check(
    "sampling: top_k 1 is the same for every seed, all of them are not",
    Effect.gen(function*() {
      const client = yield* sampler
      const seeds = [1, 2, 3, 4, 5, 6]
      const greedy = yield* Effect.forEach(seeds, (seed) => sampled(client, { seed, topK: 1 }))
      const free = yield* Effect.forEach(seeds, (seed) => sampled(client, { seed, temperature: 2 }))
      yield* expect(distinct(greedy.flat()) === 1, `${distinct(greedy.flat())} greedy answers`)
      yield* expect(distinct(free.flat()) > 1, "one answer for six seeds")
    })
  ),
  check(
    "sampling: one seed gives different samples, and the same ones again",
    Effect.gen(function*() {
      const client = yield* sampler
      const params = { seed: 7, temperature: 2 }
      const once = yield* sampled(client, params, 4)
      yield* expect(distinct(once) > 1, "four equal samples")
      yield* expect(
        JSON.stringify(once) === JSON.stringify(yield* sampled(client, params, 4)),
        "others the second time"
      )
    })
  ),
  check(
    "sampling: the stop token ends a sequence and is part of it",
    Effect.gen(function*() {
      const client = yield* sampler
      const [greedy] = yield* sampled(client, { temperature: 0 })
      const stop = greedy?.tokens[1] ?? 0
      const end = (greedy?.tokens.indexOf(stop) ?? 0) + 1
      const [stopped] = yield* sampled(client, { temperature: 0, stop: [stop] })
      yield* expect(stopped?.stopReason === "stop", `reason is ${stopped?.stopReason}`)
      yield* close("tokens", stopped?.tokens ?? [], greedy?.tokens.slice(0, end) ?? [])
    })
  ),
  check(
    "sampling: a text to stop at is accepted, or refused by name",
    Effect.flatMap(sampler, (client) => orRefused(sampled(client, { stop: ["5"] }), "Unsupported", "Rejected"))
  ),
  check(
    "log-probabilities of a prompt: one per token, none for the first, when asked for alone",
    Effect.gen(function*() {
      const client = yield* sampler
      const found = yield* client.computeLogprobs(prompt)
      yield* expect(found.length === 5 && Number.isNaN(found[0]), `they are ${found}`)
      const params = { maxTokens: 1, stop: noStop }
      const { promptLogprobs } = yield* client.sample({ prompt, params })
      yield* expect(promptLogprobs === undefined, "there are some nobody asked for")
    })
  ),
  check(
    "the most likely tokens of a prompt, or a refusal that names them",
    Effect.flatMap(sampler, (client) =>
      orRefused(
        Effect.flatMap(
          client.sample({ prompt, params: { maxTokens: 1, stop: noStop }, topkPromptLogprobs: 2 }),
          ({ topkPromptLogprobs: rows = [] }) => expect(rows.length === 5, `${rows.length} rows`)
        ),
        "Unsupported"
      ))
  )
]
