// Several turns: the policy guesses a number, is told whether it was too low or too high, and guesses again. The model is a script that
// halves the remaining range, so the whole loop is visible: prompts, responses and rewards.
import { ChatModel, Policy, Rollout, Tinker } from "@effect-rl/core"
import { Seed } from "@effect-rl/core/environments"
import { Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import { GuessNumberEnv } from "@effect-rl/recipes"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Console, Effect, Layer } from "effect"

const tokenizer = TestTokenizer.characters

/** Guesses the middle of the remaining range. One answer in ten is phrased as a question, which the environment does not understand. */
const guess = (conversation: string, seed: number) => {
  const [lowest, highest] = GuessNumberEnv.leftOpen(conversation, GuessNumberEnv.standard.range)
  const middle = Math.floor((lowest + highest) / 2)
  return Seed.uniform(seed)() < 0.1 ? `Maybe ${middle}?` : `Guess: ${middle}`
}

const backend = Layer.merge(
  ScriptedTinker.layer({
    models: { "a script": { contextLength: 4096 } },
    tokenizer,
    sample: Script.reply(
      tokenizer,
      (prompt, { seed = 0 }) => Script.text(tokenizer, `${guess(prompt, seed)}<|im_end|>`)
    )
  }),
  TestTokenizer.layer(tokenizer)
)

export const program = Effect.gen(function*() {
  const model = yield* ChatModel.resolve("a script", { renderer: "qwen3_instruct" })
  const tinker = yield* Tinker.Tinker
  const sampler = yield* tinker.createSamplingClient({ baseModel: model.name })
  const policy = Policy.fromSamplingClient(sampler, { maxTokens: 64, seed: 1 })
  const key = { iteration: 0, group: "guess", member: 0, attempt: 0 }

  const { stepReward, stopReason, transitions } = yield* Rollout.episode(GuessNumberEnv.make(model, 687), policy, key)
  for (const { logs, reward } of transitions) {
    yield* Console.log(`${logs["guess"]} -> ${logs["feedback"]} (${reward})`)
  }
  yield* Console.log(`reward ${stepReward} after ${transitions.length} turns`)
  return { stepReward, stopReason, turns: transitions.length }
}).pipe(Effect.scoped)

if (import.meta.main) program.pipe(Effect.provide(backend), NodeRuntime.runMain)
