import { Message, type MessagePolicy, Rollout } from "@effect-rl/core"
import type { Sampling } from "@effect-rl/core/backend"
import { EnvLaws } from "@effect-rl/core/testing"
import { Answerer, Recipes, Things, TwentyQuestionsEnv } from "@effect-rl/recipes"
import { nouns } from "@effect-rl/recipes/twentyQuestions/Nouns"
import * as TwentyQuestions from "@effect-rl/recipes/twentyQuestions/TwentyQuestions"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import * as TestModel from "../TestModel.ts"

const { tokenizer } = TestModel

const sampled = (text: string): Sampling.SampledTokens => {
  const tokens = tokenizer.encode(`${text}<|im_end|>`)
  return { tokens, logprobs: new Float32Array(tokens.length), stopReason: "stop" }
}

const cut = (text: string): Sampling.SampledTokens => {
  const tokens = tokenizer.encode(text)
  return { tokens, logprobs: new Float32Array(tokens.length), stopReason: "length" }
}

/** Plays a game about an eagle with a policy that says these texts in turn and repeats the last one. */
const play = Effect.fnUntraced(function*(
  texts: ReadonlyArray<Sampling.SampledTokens>,
  { answerer = Answerer.scripted, maxTurns = 20 }: {
    readonly answerer?: Answerer.Answerer
    readonly maxTurns?: number
  } = {}
) {
  const model = yield* TestModel.model
  const env = yield* TwentyQuestionsEnv.make({ model, thing: "eagle", answerer, maxTurns, key: "eagle/m0" })
  const trajectory = yield* Rollout.episode(
    env,
    { act: ({ key }) => Effect.succeed(texts[Math.min(key.turn, texts.length - 1)] ?? sampled("")) },
    { iteration: 0, group: "eagle", member: 0, attempt: 0 }
  )
  return { trajectory, rewards: trajectory.transitions.map(({ reward }) => reward) }
})

describe("the scripted answers of twenty questions", () => {
  it.each([
    ["Is it an animal?", "Yes"],
    ["is that some kind of creature", "Yes"],
    ["Is it bigger than a person?", "No"],
    ["Guess: eagle", "Yes"],
    ["Guess: Eagle", "Yes"],
    ["Guess: duck", "No"],
    ["Is it blue?", "I cannot tell"]
  ])("about an eagle: %j is answered by %j", (said, answer) => {
    assert.strictEqual(Things.answer("eagle", said), answer)
  })

  it.each(Things.names)("let a good player find %s within eight turns", (thing) => {
    let conversation = ""
    for (let turn = 1; turn <= 8; turn++) {
      const said = Things.next(conversation)
      if (said === `Guess: ${thing}`) return
      conversation += `assistant\n${said}\nuser\n${Things.answer(thing, said)}\n`
    }
    assert.fail(conversation)
  })

  it("exclude a thing that was guessed wrongly", () => {
    assert.notInclude(Things.leftOpen("assistant\nGuess: duck\nuser\nNo\n"), "duck")
  })
})

describe("an answerer that is a model", () => {
  it.effect("sees only its word and the latest question", () =>
    Effect.gen(function*() {
      const seen: Array<MessagePolicy.Request> = []
      const answerer = Answerer.fromMessagePolicy({
        respond: (request) => Effect.sync(() => (seen.push(request), Message.assistant("yes")))
      })
      const { trajectory } = yield* play([sampled("Does it fly?"), sampled("Is it big?"), sampled("Guess: eagle")], {
        answerer
      })
      assert.deepStrictEqual(seen.map(({ messages }) => messages.slice(1)), [
        [Message.user("Does it fly?")],
        [Message.user("Is it big?")],
        [Message.user("Guess: eagle")]
      ])
      assert.isTrue(
        seen.every(({ messages: [first] }) => first !== undefined && Message.text(first).includes("the word is eagle."))
      )
      assert.strictEqual(new Set(seen.map(({ key }) => key)).size, 3)
      assert.strictEqual(trajectory.transitions[0]?.logs["answer"], "yes")
    }))
})

describe("the environment of twenty questions", () => {
  it.effect("rewards only the right guess, and ends there", () =>
    Effect.gen(function*() {
      const { rewards, trajectory } = yield* play([
        sampled("Can it fly?"),
        sampled("Guess: duck"),
        sampled("Guess: Eagle")
      ])
      assert.deepStrictEqual(rewards, [0, 0, 1])
      assert.deepStrictEqual(trajectory.transitions.map(({ logs }) => logs["answer"]), ["Yes", "No", "Yes"])
      assert.deepStrictEqual(trajectory.stopReason, Option.some("completed"))
    }))

  it.effect("ends without a reward when the turns are used up", () =>
    Effect.gen(function*() {
      const { rewards, trajectory } = yield* play([sampled("Can it fly?")], { maxTurns: 3 })
      assert.deepStrictEqual(rewards, [0, 0, 0])
      assert.deepStrictEqual(trajectory.stopReason, Option.some("max_turns"))
    }))

  it.effect("continues after a truncated turn, which cannot win", () =>
    Effect.gen(function*() {
      const { rewards } = yield* play([cut("Guess: eagle"), sampled("Guess: eagle")])
      assert.deepStrictEqual(rewards, [0, 1])
    }))

  it.effect.each(["Guess: an eagle", "guess: eagle", "It is an eagle.", "Guess:eagle", "I guess: eagle"])(
    "does not accept %j as the guess",
    (said) =>
      Effect.gen(function*() {
        assert.deepStrictEqual((yield* play([sampled(said)], { maxTurns: 1 })).rewards, [0])
      })
  )
})

describe("the laws of the environment of twenty questions", () => {
  const makeEnv = (seed: number) =>
    Effect.flatMap(
      TestModel.model,
      (model) =>
        TwentyQuestionsEnv.make({
          model,
          thing: "eagle",
          answerer: Answerer.scripted,
          maxTurns: 4,
          key: `eagle/${seed}`
        })
    ).pipe(
      Effect.orDie
    )
  const options = {
    tokenizer,
    vocabulary: tokenizer.vocabulary,
    replies: ["Guess: duck", "Can it fly?", "Is it blue?"],
    seeds: [0],
    turns: 4
  } as const
  for (const law of EnvLaws.envLaws(makeEnv, options)) it.effect(law.name, () => law.check)
})

describe("the recipe twenty_questions", () => {
  const built = Effect.fnUntraced(function*(settings: object) {
    const { build } = yield* Recipes.twentyQuestions.configure({ answerer: "scripted", ...settings })
    return yield* build(yield* TestModel.model)
  })

  it("shuffles and holds out the cookbook's words as it does", () => {
    const { heldOut, trained } = TwentyQuestions.split(nouns)
    assert.deepStrictEqual(trained.slice(0, 5), ["garden", "park", "orange", "zucchini", "parent"])
    assert.deepStrictEqual(heldOut.slice(0, 4), ["sea", "pencil", "window", "cup"])
    assert.deepStrictEqual([trained.length, heldOut.length], [137, 34])
  })

  it.effect("repeats the training words, without the held-out ones", () =>
    Effect.gen(function*() {
      const { dataset, evaluators } = yield* built({ groupsPerBatch: 16, iterations: 11 })
      const { heldOut, trained } = TwentyQuestions.split(Things.names)
      const keys: Array<string> = []
      for (let index = 0; index < dataset.length; index++) {
        keys.push(...(yield* dataset.batch(index, 0)).map(({ key }) => key))
      }
      assert.deepStrictEqual(keys, Array.from({ length: 8 }, () => trained).flat())
      assert.deepStrictEqual(evaluators[0]?.groups?.map(({ key }) => key), heldOut)
    }))

  it.effect("needs a backend for an answerer that is a model", () =>
    Effect.gen(function*() {
      const { message } = yield* Effect.flip(built({ answerer: "Qwen/Qwen3.5-9B" }))
      assert.include(message, "answerer")
      assert.include(message, "scripted, because no model can sample here")
    }))
})
