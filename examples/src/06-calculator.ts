// A tool: the policy calls a calculator, reads its answer, and states the number. Half of the members call it, the others guess; three
// training iterations show the difference. Answers are scripted, and training runs on the scripted backend's toy model.
import { ChatModel, Rl, RLDataset, RunRecord, RunStore } from "@effect-rl/core"
import { Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import { Calculation, CalculatorEnv } from "@effect-rl/recipes"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Console, Effect, Layer, Stream } from "effect"

const tokenizer = TestTokenizer.characters

const call = (expression: string) =>
  `<tool_call>\n${JSON.stringify({ name: "calculator", arguments: { expression } })}\n</tool_call>`

/** Repeats the calculator's answer if there is one. Otherwise calls the calculator if the seed is even, and guesses if it is odd. */
const respond = (prompt: string, seed: number) => {
  const answer = /<tool_response>\n(.*)\n<\/tool_response>/.exec(prompt)?.[1]
  if (answer !== undefined) return `It is ${answer}.`
  const expression = /What is (.+)\? Use/.exec(prompt)?.[1] ?? ""
  return seed % 2 === 0 ? call(expression) : "It is 1000."
}

const backend = Layer.merge(
  ScriptedTinker.layer({
    models: { "a script": { contextLength: 8192 } },
    tokenizer,
    sample: Script.reply(
      tokenizer,
      (prompt, { seed = 0 }) => Script.text(tokenizer, `${respond(prompt, seed)}<|im_end|>`)
    )
  }),
  TestTokenizer.layer(tokenizer)
)

export const program = Effect.gen(function*() {
  const model = yield* ChatModel.resolve("a script", { renderer: "qwen3_instruct" })
  const dataset = RLDataset.fromArray(Calculation.batch(0, 6, "long", 10), {
    groupsPerBatch: 2,
    group: ({ answer, expression }) => ({
      key: expression,
      size: 4,
      tags: ["calculator"],
      open: Effect.succeed({ makeEnv: () => CalculatorEnv.make({ model, expression, answer }) })
    })
  })
  return yield* Rl.run({ model, dataset, sampling: { maxTokens: 256 }, update: { learningRate: 1e-3 } }).pipe(
    Stream.filter(RunRecord.guards.Updated),
    Stream.tap(({ iteration, metrics, reward }) =>
      Console.log(
        `iteration ${iteration + 1}: reward ${reward?.mean}, calculator used in ${
          metrics["env/all/used_calculator"]
        } of all episodes`
      )
    ),
    Stream.runCollect
  )
})

if (import.meta.main) {
  program.pipe(Effect.provide([backend, RunStore.RunStore.layerMemory]), NodeRuntime.runMain)
}
