/** Tests the task on a scripted backend and a scripted sandbox, without a model, a process or waiting. */
import { ChatModel, Rl, RunRecord, RunStore } from "@effect-rl/core"
import { Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import { Sandbox, Scripted } from "@effect-rl/sandbox"
import { Effect, Layer, Stream } from "effect"
import { deepStrictEqual } from "node:assert"
import { test } from "node:test"
import { dataset } from "../src/task.ts"

const tokenizer = TestTokenizer.characters

const sumIn = (prompt: string) => {
  const [, a, b] = /What is (\d+) \+ (\d+)\?/.exec(prompt) ?? []
  return Number(a) + Number(b)
}

/** Answers two of a group's eight attempts correctly. */
const sample = Script.reply(
  tokenizer,
  (prompt, { sequence }) => Script.text(tokenizer, `It is ${sumIn(prompt) + (sequence % 8 < 2 ? 0 : 1)}<|im_end|>`)
)

/** A sandbox whose programs print the number in their `print` call. */
const sandbox = Sandbox.Sandbox.layerScripted({
  run: ({ files }) =>
    Effect.sync(() => {
      const program = new TextDecoder().decode(files.get("main.py"))
      return Scripted.printed(/^print\((\d+)\)$/m.exec(program)?.[1] ?? "")
    })
})

const backend = Layer.mergeAll(
  ScriptedTinker.layer({ models: { "effect-rl/tiny-128": {} }, tokenizer, sample }),
  TestTokenizer.layer(tokenizer),
  RunStore.RunStore.layerMemory,
  sandbox
)

const rewards = Effect.gen(function*() {
  const model = yield* ChatModel.resolve("effect-rl/tiny-128")
  const updates = yield* Rl.run({
    model,
    dataset: dataset(model, { groupsPerBatch: 4, groupSize: 8 }),
    sampling: { maxTokens: 40 },
    update: { learningRate: 1e-3 },
    run: { iterations: 3 }
  }).pipe(Stream.filter(RunRecord.guards.Updated), Stream.runCollect)
  return updates.map(({ reward }) => reward?.mean)
})

test("rewards the attempts whose program prints the sum, in every iteration", async () => {
  deepStrictEqual(await Effect.runPromise(Effect.provide(rewards, backend)), [0.25, 0.25, 0.25])
})
