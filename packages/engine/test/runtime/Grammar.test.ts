/** Samples that a grammar constrains to a JSON Schema. */
import { Tinker } from "@effect-rl/core"
import { ModelInput, type Sampling } from "@effect-rl/core/backend"
import { Tokenizer } from "@effect-rl/core/renderers"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as TestEngine from "./TestEngine.ts"

const base = Effect.flatMap(Tinker.Tinker, (tinker) => tinker.createSamplingClient({ baseModel: TestEngine.model }))

const tokenizer = Tokenizer.Tokenizers.use((tokenizers) => tokenizers.load(TestEngine.model))

const tag = Schema.Literals(["a", "\"b\"", "c/d\n"])

/** Schemas, with checks of their answers. */
const held: Readonly<Record<string, { readonly jsonSchema: Schema.Json; readonly is: (value: unknown) => boolean }>> = {
  "any object": { jsonSchema: { type: "object" }, is: Schema.is(Schema.Record(Schema.String, Schema.Json)) },
  "an object of all types": {
    jsonSchema: {
      type: "object",
      properties: {
        count: { type: "integer", exclusiveMinimum: 2, maximum: 40 },
        tags: { type: "array", items: { type: "string", enum: ["a", "\"b\"", "c/d\n", 4] }, minItems: 1, maxItems: 3 },
        isNew: { type: ["boolean", "null"] },
        name: { type: "string", description: "no more than a name" }
      },
      required: ["count", "tags"]
    },
    is: Schema.is(Schema.Struct({
      count: Schema.Int.check(Schema.isBetween({ minimum: 3, maximum: 40 })),
      tags: Schema.Array(tag).check(Schema.isMinLength(1), Schema.isMaxLength(3)),
      isNew: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
      name: Schema.optionalKey(Schema.String)
    }))
  },
  "a tree": {
    jsonSchema: {
      $ref: "#/$defs/node",
      $defs: {
        node: {
          type: "object",
          properties: {
            value: { type: "boolean" },
            children: { type: "array", items: { $ref: "#/$defs/node" }, maxItems: 1 }
          },
          required: ["value", "children"],
          additionalProperties: false
        }
      }
    },
    is: Schema.is(Schema.Struct({
      value: Schema.Boolean,
      children: Schema.Array(Schema.Any).check(Schema.isMaxLength(1))
    }))
  }
}

/** A grammar of three texts, one of which is a prefix of another. */
const words = ["alpha", "alp", "beta"]
const wordTexts = words.map((word) => JSON.stringify(word))
const wordGrammar = { jsonSchema: { enum: words } }

const plain: Sampling.SampleRequest = {
  prompt: TestEngine.prompt(2),
  numSamples: 8,
  params: { maxTokens: 60, seed: 1 }
}

const sampled = Effect.fnUntraced(function*(request: Partial<Sampling.SampleRequest>) {
  const client = yield* base
  return (yield* client.sample({ ...plain, ...request })).sequences
}, Effect.scoped)

const logSumExp = (values: ReadonlyArray<number>) => {
  const most = Math.max(...values)
  return most + Math.log(values.reduce((sum, value) => sum + Math.exp(value - most), 0))
}

/** The log-probabilities of all tokens after the prompt and after each of these tokens except the last. */
const allLogprobs = Effect.fnUntraced(function*(prompt: ModelInput.ModelInput, tokens: Int32Array, vocabulary: number) {
  const client = yield* base
  const whole = ModelInput.append(prompt, tokens)
  const candidates = Int32Array.from({ length: (whole.length - 1) * vocabulary }, (_, cell) => cell % vocabulary)
  const request = {
    prompt: whole,
    params: { maxTokens: 1 },
    targetPromptLogprobs: { tokens: candidates, candidates: vocabulary }
  }
  const { targetPromptLogprobs } = yield* client.sample(request)
  const { logprobs = new Float32Array() } = targetPromptLogprobs ?? {}
  return Array.from(tokens, (_, t) => {
    const row = prompt.length - 1 + t
    return [...logprobs.subarray(row * vocabulary, (row + 1) * vocabulary)]
  })
}, Effect.scoped)

const ended = (sequences: ReadonlyArray<Sampling.SampledTokens>) =>
  sequences.filter(({ stopReason }) => stopReason === "stop")

const parse = (text: string): unknown => JSON.parse(text)

describe("sampling with a grammar", () => {
  for (const workers of [0, 2]) {
    layer(TestEngine.layer(workers))(`with ${workers} workers`, (it) => {
      for (const [name, { is, jsonSchema }] of Object.entries(held)) {
        it.effect(`yields ${name} in each sample that stops, and stops right after it`, () =>
          Effect.gen(function*() {
            const { decode, eosTokenId } = yield* tokenizer
            const finished = ended(yield* sampled({ grammar: { jsonSchema }, numSamples: 60 }))
            assert.isAbove(finished.length, 5)
            for (const { tokens } of finished) {
              assert.strictEqual(tokens.at(-1), eosTokenId)
              const value = parse(decode(tokens.slice(0, -1)))
              assert.isTrue(is(value), JSON.stringify(value))
            }
          }))
      }

      it.effect("yields a prefix of an allowed text when it reaches the token limit", () =>
        Effect.gen(function*() {
          const { decode } = yield* tokenizer
          const seen = new Set<string>()
          for (const maxTokens of [1, 2, 3, 4, 5]) {
            for (const temperature of [0, 1, 3]) {
              const params = { maxTokens, seed: 7, temperature }
              const sequences = yield* sampled({ grammar: wordGrammar, numSamples: 20, params })
              for (const { stopReason, tokens } of sequences) {
                const text = decode(stopReason === "stop" ? tokens.slice(0, -1) : tokens)
                const isRight = stopReason === "stop"
                  ? wordTexts.includes(text)
                  : wordTexts.some((word) => word.startsWith(text))
                assert.isTrue(isRight, text)
                assert.isAtMost(tokens.length, maxTokens)
                seen.add(stopReason)
              }
            }
          }
          assert.strictEqual(seen.size, 2)
        }))

      it.effect("samples every text that the grammar allows, with and without filters", () =>
        Effect.gen(function*() {
          const { decode } = yield* tokenizer
          for (const filter of [{}, { topP: 0.999, topK: 300 }]) {
            const params = { maxTokens: 20, seed: 3, temperature: 4, ...filter }
            const finished = ended(yield* sampled({ grammar: wordGrammar, numSamples: 60, params }))
            const texts = new Set(finished.map(({ tokens }) => decode(tokens.slice(0, -1))))
            assert.deepStrictEqual([...texts].sort(), [...wordTexts].sort())
          }
        }))
    })
  }

  layer(TestEngine.layer(2))("with two workers", (it) => {
    it.effect("returns log-probabilities under the weights and among the allowed tokens", () =>
      Effect.gen(function*() {
        const { decode, eosTokenId } = yield* tokenizer
        const vocabulary = Array.from({ length: 1024 }, (_, token) =>
          decode([token])).findLastIndex((text) => text !== "") + 1
        const client = yield* base
        for (const { logprobs, maskedLogprobs, tokens } of yield* sampled({ grammar: wordGrammar })) {
          const whole = yield* client.computeLogprobs(ModelInput.append(plain.prompt, tokens))
          assert.deepStrictEqual(logprobs, whole.slice(plain.prompt.length))
          const allTV = yield* allLogprobs(plain.prompt, tokens, vocabulary)
          const expected = Float32Array.from(tokens, (token, t) => {
            const before = decode(tokens.slice(0, t))
            const isAllowed = (next: number) =>
              next === eosTokenId
                ? wordTexts.includes(before)
                : decode([next]) !== "" && wordTexts.some((word) => word.startsWith(before + decode([next])))
            const allowed = (allTV[t] ?? []).filter((_, next) => isAllowed(next))
            assert.isTrue(isAllowed(token))
            return (allTV[t]?.[token] ?? NaN) - logSumExp(allowed)
          })
          assert.lengthOf(maskedLogprobs ?? [], tokens.length)
          for (const [t, value] of expected.entries()) assert.closeTo(maskedLogprobs?.[t] ?? NaN, value, 1e-4)
        }
      }).pipe(Effect.scoped))

    it.effect("leaves concurrent requests without a grammar bit-identical", () =>
      Effect.gen(function*() {
        const requests = Array.from({ length: 12 }, (_, seed) => ({ params: { maxTokens: 60, seed } }))
        const alone = yield* Effect.forEach(requests, sampled)
        const [together, masked] = yield* Effect.all([
          Effect.forEach(requests, sampled, { concurrency: "unbounded" }),
          sampled({ grammar: { jsonSchema: { type: "array", items: { type: "boolean" }, maxItems: 3 } } })
        ], { concurrency: "unbounded" })
        assert.deepStrictEqual(together, alone)
        assert.isTrue(alone.flat().every(({ maskedLogprobs }) => maskedLogprobs === undefined))
        assert.isTrue(masked.every(({ maskedLogprobs }) => maskedLogprobs !== undefined))
      }))

    it.effect("gives sample i the result of a single request with seed + i", () =>
      Effect.gen(function*() {
        const grammar = { jsonSchema: { type: "object" } }
        const together = yield* sampled({ grammar })
        const alone = yield* Effect.forEach([1, 2, 3], (seed) =>
          sampled({ grammar, numSamples: 1, params: { maxTokens: 60, seed } }))
        assert.deepStrictEqual(alone.flat(), together.slice(0, 3))
      }))

    it.effect("stops after the grammar's text at a stop string, or at token ids instead of the model's end token", () =>
      Effect.gen(function*() {
        const { decode, encode } = yield* tokenizer
        const grammar = { jsonSchema: { const: { a: [1] } } }
        const texts = yield* sampled({ grammar, params: { maxTokens: 60, seed: 1, temperature: 50, stop: ["\nEnd"] } })
        const withText = new Set(ended(texts).map(({ tokens }) => decode(tokens)))
        assert.include([...withText], "{\"a\":[1]}\nEnd")
        const [stop = 0] = encode("x")
        const ids = yield* sampled({ grammar, params: { maxTokens: 60, seed: 1, stop: [stop] } })
        assert.deepStrictEqual([...new Set(ended(ids).map(({ tokens }) => decode(tokens)))], ["{\"a\":[1]}x"])
      }))

    it.effect("names the reason for refusing an unsupported grammar, and keeps working", () =>
      Effect.gen(function*() {
        const refused = [
          [{ grammar: { jsonSchema: { type: "number", multipleOf: 2 } } }, "grammar.jsonSchema: multipleOf is 2"],
          [{ grammar: wordGrammar, params: { maxTokens: 9, stop: [] } }, "params.stop is empty"]
        ] as const
        for (const [request, detail] of refused) {
          const { reason } = yield* Effect.flip(sampled(request))
          assert.strictEqual(reason._tag, "Rejected")
          assert.include(reason.message, detail)
        }
        assert.lengthOf(yield* sampled({ grammar: wordGrammar }), 8)
      }))
  })
})
