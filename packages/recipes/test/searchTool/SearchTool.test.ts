import { EnvMetric, Rollout } from "@effect-rl/core"
import type { Sampling } from "@effect-rl/core/backend"
import { EnvLaws } from "@effect-rl/core/testing"
import { Hub } from "@effect-rl/files"
import { Bm25, Recipes, SearchCorpus, SearchEnv } from "@effect-rl/recipes"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, Option } from "effect"
import * as TestModel from "../TestModel.ts"

const { tokenizer } = TestModel

describe("a search by BM25", () => {
  const lighthouse = "The lighthouse of Cape Marlin was built in 1871."
  const harbour = "The harbour of Cape Marlin has 34 berths."
  const other = "The lighthouse of Port Petrel was built in 1822."
  const index = Bm25.make([harbour, other, lighthouse])

  it("ranks a document by how many words of the query it has, and how rare they are", () => {
    assert.deepStrictEqual(Bm25.search(index, "lighthouse of Cape Marlin", 3), [lighthouse, harbour, other])
    assert.deepStrictEqual(Bm25.search(index, "PETREL?", 3), [other])
  })

  it("returns at most the requested number of documents, the earlier of two equally good ones", () => {
    assert.deepStrictEqual(Bm25.search(Bm25.make(["b a", "a c"]), "a", 1), ["b a"])
  })

  it.each(["", "  ", "Atlantis"])("finds nothing for %j", (query) => {
    assert.deepStrictEqual(Bm25.search(index, query, 3), [])
  })

  it("finds nothing among no documents", () => {
    assert.deepStrictEqual(Bm25.search(Bm25.make([]), "lighthouse", 3), [])
  })

  it("prefers the shorter of two documents with the same words of the query", () => {
    const [long, short] = ["harbour of a town on the coast", "harbour of a town"]
    assert.deepStrictEqual(Bm25.search(Bm25.make([long, short]), "harbour", 2), [short, long])
  })

  it("finds every question's document in the gazetteer first", () => {
    const { documents, test, train } = SearchCorpus.gazetteer
    const gazetteer = Bm25.make(documents)
    for (const { answers: [answer = ""], question } of [...train, ...test]) {
      assert.include(Bm25.search(gazetteer, question, 1)[0] ?? "", answer)
    }
  })
})

const call = (query: string) => `<tool_call>\n${JSON.stringify({ name: "search", arguments: { query } })}\n</tool_call>`

const sampled = (text: string): Sampling.SampledTokens => {
  const tokens = tokenizer.encode(`${text}<|im_end|>`)
  return { tokens, logprobs: new Float32Array(tokens.length), stopReason: "stop" }
}

const question = { question: "Who is the mayor of Port Marlin?", answers: ["The Abbot", "Mayor Abbot"] }
const index = Bm25.make(["The mayor of Port Marlin is Abbot."])

const env = (form: SearchEnv.Form) =>
  Effect.flatMap(
    TestModel.model,
    (model) => SearchEnv.make({ model, index, form, maxTurns: 3, results: 3, formatCoefficient: 0.1, ...question })
  )

/** Plays an episode with a policy that says these texts in turn and repeats the last one. */
const play = (form: SearchEnv.Form, ...texts: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    return yield* Rollout.episode(
      yield* env(form),
      { act: ({ key }) => Effect.succeed(sampled(texts[Math.min(key.turn, texts.length - 1)] ?? "")) },
      { iteration: 0, group: "search", member: 0, attempt: 0 }
    )
  })

describe("a question with a search", () => {
  it.effect("shows what was found, and earns 1 for an answer after the mark", () =>
    Effect.gen(function*() {
      const { stepReward, stopReason, transitions } = yield* play(
        "marked",
        call("mayor Marlin"),
        "So it is.\nAnswer: abbot!"
      )
      assert.strictEqual(stepReward, 1)
      assert.deepStrictEqual(stopReason, Option.some("completed"))
      assert.strictEqual(transitions[0]?.logs["tool_result_0"], "The mayor of Port Marlin is Abbot.")
      assert.deepInclude(transitions.at(-1)?.metrics, { format: EnvMetric.rate(true), searched: EnvMetric.rate(true) })
    }))

  it.effect.each([
    { said: "Answer: Barlow", reward: 0 },
    { said: "Abbot", reward: -0.1 },
    { said: "Answer: Abbot or Answer: Barlow", reward: -0.1 },
    { said: "", reward: -0.1 }
  ])("gives reward $reward for $said, if answers are marked", ({ reward, said }) =>
    Effect.gen(function*() {
      assert.strictEqual((yield* play("marked", said)).stepReward, reward)
    }))

  it.effect.each([
    { said: "Abbot.", reward: 1 },
    { said: "mayor abbot", reward: 1 },
    { said: "It is Abbot", reward: 0 },
    { said: call("Marlin"), reward: 0 }
  ])("gives reward $reward for $said, if answers stand alone", ({ reward, said }) =>
    Effect.gen(function*() {
      assert.strictEqual((yield* play("alone", said)).stepReward, reward)
    }))
})

describe("the laws of the search environment", () => {
  const options = {
    tokenizer,
    vocabulary: tokenizer.vocabulary,
    seeds: [0],
    replies: ["Answer: Abbot", call("mayor"), call(""), "<tool_call>\nnothing\n</tool_call>"]
  } as const
  for (const law of EnvLaws.envLaws(() => Effect.orDie(env("marked")), options)) it.effect(law.name, () => law.check)
})

describe("the recipe search_tool", () => {
  const files = Layer.provideMerge(Hub.Hub.layer, NodeServices.layer)
  const build = Effect.gen(function*() {
    const { build } = yield* Recipes.searchTool.configure({ iterations: 40, groupsPerBatch: 16 })
    return yield* build(yield* TestModel.model)
  })

  it.effect("never asks in training about evaluation places", () =>
    Effect.gen(function*() {
      const { dataset } = yield* build
      const heldOut = new Set(SearchCorpus.gazetteer.test.map(({ question }) => question))
      assert.isAbove(heldOut.size, 0)
      for (let index = 0; index < dataset.length; index++) {
        for (const { key } of yield* dataset.batch(index, 3)) assert.isFalse(heldOut.has(key), key)
      }
    }).pipe(Effect.provide(files)))

  it.effect("gives reference answers: the search, then the final answer", () =>
    Effect.gen(function*() {
      const { answerTo } = yield* build
      const { answers: [answer = ""], question = "" } = SearchCorpus.gazetteer.test[0] ?? { answers: [] }
      assert.deepStrictEqual(answerTo(question), Option.some(call(question)))
      assert.deepStrictEqual(answerTo(`${question}<tool_response>`), Option.some(`Answer: ${answer}`))
      assert.deepStrictEqual(answerTo("Hello"), Option.none())
    }).pipe(Effect.provide(files)))

  it.effect("reads documents and questions from a folder", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped()
      const row = (question: string) => JSON.stringify({ question, golden_answers: ["Abbot"], data_source: "nq" })
      yield* fs.writeFileString(`${folder}/corpus.jsonl`, JSON.stringify({ id: 7, text: "The mayor is Abbot." }))
      yield* fs.writeFileString(`${folder}/train.jsonl`, row("Who is the mayor?"))
      yield* fs.writeFileString(`${folder}/test.jsonl`, row("Who governs?"))
      assert.deepStrictEqual(yield* SearchCorpus.load(folder), {
        documents: ["The mayor is Abbot."],
        train: [{ question: "Who is the mayor?", answers: ["Abbot"] }],
        test: [{ question: "Who governs?", answers: ["Abbot"] }]
      })
      yield* fs.writeFileString(`${folder}/corpus.jsonl`, "")
      const { message } = yield* Effect.flip(SearchCorpus.load(folder))
      assert.include(message, "expected at least one document")
    }).pipe(Effect.provide(files)))
})
