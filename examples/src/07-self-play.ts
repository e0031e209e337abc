// Self-play: each member of a group plays one side of the same tic-tac-toe match, and one side's win is the other side's loss. The policy
// is a script that takes a random free cell, and sometimes names a cell that does not exist.
import { ChatModel, Policy, Rollout, SelfPlay, Tinker } from "@effect-rl/core"
import { Seed } from "@effect-rl/core/environments"
import { GroupResult } from "@effect-rl/core/program"
import { Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import { TicTacToe } from "@effect-rl/recipes"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Array, Console, Effect, Layer, Stream } from "effect"

const tokenizer = TestTokenizer.characters

/** A random free cell of the newest board, or with probability 0.05 cell 9, which does not exist. */
const move = (prompt: string, seed: number) => {
  const free = [...prompt.matchAll(/Free cells: ([\d, ]+)/g)].at(-1)?.[1]?.split(", ") ?? []
  const draw = Seed.uniform(seed)
  return draw() < 0.05 ? "[9]" : `[${free[Math.floor(draw() * free.length)]}]`
}

const backend = Layer.merge(
  ScriptedTinker.layer({
    models: { "a script": { contextLength: 4096 } },
    tokenizer,
    sample: Script.reply(tokenizer, (prompt, { seed = 0 }) => Script.text(tokenizer, `${move(prompt, seed)}<|im_end|>`))
  }),
  TestTokenizer.layer(tokenizer)
)

export const program = Effect.gen(function*() {
  const model = yield* ChatModel.resolve("a script", { renderer: "qwen3_instruct" })
  const tinker = yield* Tinker.Tinker
  const sampler = yield* tinker.createSamplingClient({ baseModel: model.name })
  const policy = Policy.fromSamplingClient(sampler, { maxTokens: 64, seed: 11 })
  const matches = Array.makeBy(20, (index) => SelfPlay.make({ key: String(index), model, game: TicTacToe.ticTacToe }))

  const results = yield* Stream.runCollect(Rollout.stream(matches, policy))
  const rewards = results.flatMap((result) =>
    GroupResult.isSkipped(result) ? [] : [Array.fromIterable(result.rewardsG)]
  )
  for (const [index, [o, x]] of rewards.entries()) yield* Console.log(`match ${index}: O ${o}, X ${x}`)
  return rewards
}).pipe(Effect.scoped)

if (import.meta.main) program.pipe(Effect.provide(backend), NodeRuntime.runMain)
