import { Tinker } from "@effect-rl/core"
import type { Sampling } from "@effect-rl/core/backend"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Blame from "../Blame.ts"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import { RawRequests } from "../RawRequests.ts"

const why = "A sample that runs past its stop is graded with made-up text, or uses up its token limit."

const sampler = Effect.gen(function*() {
  const { model: baseModel } = yield* RawRequests
  const client = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ baseModel }))
  const sample = (params: Omit<Sampling.SamplingParams, "maxTokens">, maxTokens = 24) =>
    Effect.flatMap(
      client.sample({ prompt: Examples.input, params: { maxTokens, ...params } }),
      ({ sequences: [one] }) =>
        one === undefined
          ? Effect.fail(new Check.Mismatch({ expected: "a sequence", found: "none" }))
          : Effect.succeed(one)
    )
  return { client, sample }
})

/** The index of the first token that is one of `stops`; −1 if there is none. */
const firstOf = (tokens: Int32Array, stops: ReadonlyArray<number>) => tokens.findIndex((token) => stops.includes(token))

export const tokens: Check.Check = {
  theme: "sampling",
  name: "the first of several stop tokens ends a sample, drawn or not",
  why,
  run: Effect.gen(function*() {
    const { client, sample } = yield* sampler
    const greedy = yield* sample({ temperature: 0 })
    const stops = [greedy.tokens[9] ?? 0, greedy.tokens[4] ?? 0, 5]
    const stopped = yield* sample({ temperature: 0, stop: stops })
    const end = firstOf(greedy.tokens, stops) + 1
    yield* Check.expect(
      stopped.tokens.join() === greedy.tokens.subarray(0, end).join(),
      `tokens ${greedy.tokens.subarray(0, end).join()} up to one of ${stops}`,
      stopped.tokens.join()
    )
    const { sequences } = yield* client.sample({
      prompt: Examples.input,
      numSamples: 64,
      params: { maxTokens: 8, temperature: 1.5, stop: stops }
    })
    for (const { stopReason, tokens } of sequences) {
      const at = firstOf(tokens, stops)
      const expected = at < 0 ? "length" : "stop"
      const isRight = stopReason === expected && (at < 0 ? tokens.length === 8 : at === tokens.length - 1)
      yield* Check.expect(
        isRight,
        `${at < 0 ? 8 : at + 1} tokens, ${expected}`,
        `${tokens.length} tokens, ${stopReason}`
      )
    }
  })
}

export const limit: Check.Check = {
  theme: "sampling",
  name: "a sample that no stop ends has exactly max_tokens tokens",
  why: "Otherwise truncated answers count as finished, or finished ones as truncated.",
  run: Effect.gen(function*() {
    const { client } = yield* sampler
    for (const maxTokens of [1, 2, 7, 33]) {
      const { sequences } = yield* client.sample({ prompt: Examples.input, numSamples: 16, params: { maxTokens } })
      const wrong = sequences.find(({ stopReason, tokens }) =>
        stopReason === "length" ? tokens.length !== maxTokens : tokens.length > maxTokens
      )
      yield* Check.expect(wrong === undefined, `${maxTokens} tokens`, `${wrong?.tokens.length}, ${wrong?.stopReason}`)
    }
  })
}

const characters = Arr.makeBy(94, (at) => String.fromCharCode(33 + at))

/** Characters that are common in most texts. */
const common = [" ", "e", "a", "\n", "1", ",", "o"]

export const strings: Check.Check = {
  theme: "sampling",
  name: "a stop string ends a sample at the token that completes it, alone or in a list",
  why,
  run: Effect.gen(function*() {
    const { sample } = yield* sampler
    const free = yield* sample({ temperature: 0 })
    const lengthOf = (stop: ReadonlyArray<string>) =>
      Effect.flatMap(sample({ temperature: 0, stop }), ({ stopReason, tokens }) =>
        Effect.as(
          Check.expect(
            tokens.join() === free.tokens.subarray(0, tokens.length).join()
              && (stopReason === "stop" || tokens.length === free.tokens.length),
            `the first of the tokens ${free.tokens.join()} up to ${JSON.stringify(stop)}`,
            `${tokens.join()}, ${stopReason}`
          ),
          tokens.length
        ))
    const alone = yield* Effect.forEach(common, (character) => lengthOf([character]))
    const together = yield* lengthOf(common)
    yield* Check.expect(
      together === Math.min(...alone),
      `${Math.min(...alone)} tokens up to the first of ${JSON.stringify(common)}`,
      together
    )
    const whole = yield* lengthOf([...common, ...characters])
    yield* Check.expect(
      whole < free.tokens.length && whole <= together,
      `fewer than ${free.tokens.length} tokens where every character stops them`,
      whole
    )
  })
}

export const bare: Check.Check = {
  theme: "sampling",
  name: "a single stop string is accepted without a list",
  why: "The official SDK sends a single stop string without a list.",
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const { sampler } = yield* session
    const id = yield* sampler
    const ask = (sequence: number, stop: unknown) =>
      Effect.flatMap(
        post(
          "/asample",
          Examples.sample(id, sequence, {
            num_samples: 1,
            sampling_params: { ...Examples.sampling, max_tokens: 24, temperature: 0, stop }
          })
        ),
        Blame.expectDone
      )
    for (const [at, character] of common.entries()) {
      const [one, other] = [yield* ask(2 * at + 1, character), yield* ask(2 * at + 2, [character])]
      const [text, expected] = [one, other].map(({ body }) => JSON.stringify(Examples.sequencesOf(body)[0]?.tokens))
      yield* Check.expect(text === expected, `${expected} up to ${JSON.stringify(character)}`, text)
    }
  })
}

export const all = [tokens, limit, strings, bare]
