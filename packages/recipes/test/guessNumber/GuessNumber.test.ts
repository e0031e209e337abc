import { Rollout } from "@effect-rl/core"
import type { Sampling } from "@effect-rl/core/backend"
import { EnvLaws } from "@effect-rl/core/testing"
import { GuessNumberEnv, Recipes } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import * as TestModel from "../TestModel.ts"

const { tokenizer } = TestModel
const { standard } = GuessNumberEnv
const end = "<|im_end|>"

const sampled = (text: string): Sampling.SampledTokens => {
  const tokens = tokenizer.encode(text + end)
  return { tokens, logprobs: new Float32Array(tokens.length), stopReason: "stop" }
}

/** Plays a game with a policy that gives these answers in turn and repeats the last one. */
const play = (answer: number, size: GuessNumberEnv.Size, ...texts: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const shown: Array<string> = []
    const env = GuessNumberEnv.make(yield* TestModel.model, answer, size)
    const trajectory = yield* Rollout.episode(
      env,
      {
        act: ({ key, prompt }) =>
          Effect.sync(() => {
            shown.push(
              tokenizer.decode(prompt.chunks.flatMap((chunk) => chunk._tag === "Image" ? [] : [...chunk.tokens]))
            )
            return sampled(texts[Math.min(key.turn, texts.length - 1)] ?? "")
          })
      },
      { iteration: 0, group: "guess", member: 0, attempt: 0 }
    )
    return { rewards: trajectory.transitions.map(({ reward }) => reward), shown, trajectory }
  })

describe("the number-guessing environment", () => {
  it.effect("answers with too low, too high and correct", () =>
    Effect.gen(function*() {
      const { rewards, trajectory } = yield* play(700, standard, "Guess: 512", "Guess: 800", "Guess: 700")
      assert.deepStrictEqual(rewards, [0, 0, 1])
      assert.deepStrictEqual(trajectory.transitions.map(({ logs }) => logs["feedback"]), [
        "Too low",
        "Too high",
        "Correct"
      ])
      assert.deepStrictEqual(trajectory.stopReason, Option.some("completed"))
    }))

  it.effect("ends after ten turns", () =>
    Effect.gen(function*() {
      const { rewards, trajectory } = yield* play(700, standard, "Guess: 1")
      assert.strictEqual(rewards.length, 10)
      assert.deepStrictEqual(trajectory.stopReason, Option.some("max_turns"))
    }))

  it.effect("supports other ranges and numbers of turns", () =>
    Effect.gen(function*() {
      const { rewards, shown } = yield* play(7, { range: 16, maxTurns: 2 }, "Guess: 12", "Guess: 3", "Guess: 7")
      assert.include(shown[0], "Find a whole number between 0 and 16.")
      assert.deepStrictEqual(rewards, [0, 0])
    }))

  it.effect("tracks the numbers that are still possible", () =>
    Effect.gen(function*() {
      const said = ["Guess: 12", "I think 5", "Guess: 3", "Guess: 1"]
      const { shown } = yield* play(7, { range: 16, maxTurns: 5 }, ...said)
      assert.deepStrictEqual(shown.map((conversation) => GuessNumberEnv.leftOpen(conversation, 16)), [
        [0, 15],
        [0, 11],
        [0, 11],
        [4, 11],
        [4, 11]
      ])
    }))

  it.effect("shows the model's own messages under the role player, never as the assistant's", () =>
    Effect.gen(function*() {
      const { shown } = yield* play(700, standard, "Guess: 512", "Guess: 700")
      const [first = "", second = ""] = shown
      assert.isTrue(first.startsWith("<|im_start|>system\nFind a whole number between 0 and 1024."))
      assert.include(
        second,
        `<|im_start|>player\nGuess: 512${end}\n<|im_start|>user\nToo low${end}\n<|im_start|>assistant`
      )
      assert.strictEqual(second.split("<|im_start|>assistant").length, 2, "only the turn that is asked for")
    }))

  const readings: ReadonlyArray<readonly [said: string, reward: number]> = [
    ["Guess: 7", 1],
    ["Guess:  +7 ", 1],
    ["Guess: 0_7", 1],
    ["Guess: 7\nbecause it is prime", 1],
    ["Guess: -7", 0],
    ["guess: 7", -1],
    ["Guess:7", -1],
    ["I say Guess: 7", -1],
    ["Guess: seven", -1],
    ["Guess: 7.0", -1],
    ["Guess: ", -1],
    ["", -1]
  ]
  it.effect.each(readings)("parses guesses like the cookbook: %j earns %i", ([said, reward]) =>
    Effect.gen(function*() {
      const { rewards } = yield* play(7, standard, said)
      assert.strictEqual(rewards[0], reward)
    }))
})

describe("the laws of the number-guessing environment", () => {
  const makeEnv = (seed: number) =>
    Effect.map(Effect.orDie(TestModel.model), (model) => GuessNumberEnv.make(model, seed))
  const options = {
    tokenizer,
    vocabulary: tokenizer.vocabulary,
    replies: ["Guess: 1", "Guess: 512", "seven"],
    forgets: true,
    seeds: [0],
    turns: 4
  } as const
  for (const law of EnvLaws.envLaws(makeEnv, options)) it.effect(law.name, () => law.check)
})

describe("the recipe guess-number", () => {
  const { guessNumber } = Recipes
  const build = Effect.gen(function*() {
    const { build } = yield* guessNumber.configure({ range: 1024, maxTurns: 10, groupsPerBatch: 32, iterations: 28 })
    return yield* build(yield* TestModel.model)
  })

  it.effect("uses the cookbook's numbers in its order, in 28 full batches", () =>
    Effect.gen(function*() {
      const { dataset } = yield* build
      assert.strictEqual(dataset.length, 28)
      const [first, last] = yield* Effect.all([dataset.batch(0, 5), dataset.batch(27, 5)])
      assert.deepStrictEqual(
        first.slice(0, 8).map(({ key }) => key),
        ["788", "776", "911", "430", "41", "265", "988", "523"]
      )
      assert.deepStrictEqual([first.length, last.length], [32, 32])
    }))

  it.effect("gives guesses that find the number within ten turns as reference answers", () =>
    Effect.gen(function*() {
      const { answerTo } = yield* build
      let prompt = ""
      for (let turn = 0; turn < 10; turn++) {
        const said = Option.getOrThrow(answerTo(prompt))
        const guess = Number(said.slice("Guess: ".length))
        if (guess === 788) return assert.isAtMost(turn, 9)
        prompt += `player\n${said}\nuser\n${guess < 788 ? "Too low" : "Too high"}\n`
      }
      return assert.fail(`not found:\n${prompt}`)
    }))
})
