import { AgentTasks } from "@effect-rl/recipes"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Path } from "effect"

const loaded = (files: Readonly<Record<string, ReadonlyArray<object>>>, name: string, heldOut?: number) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const { join } = yield* Path.Path
    const folder = yield* fs.makeTempDirectoryScoped()
    for (const [file, rows] of Object.entries(files)) {
      yield* fs.writeFileString(join(folder, file), rows.map((row) => `${JSON.stringify(row)}\n`).join(""))
    }
    return yield* AgentTasks.load(join(folder, name), heldOut)
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))

const numbered = Array.from({ length: 10 }, (_, index) => ({ task: `task ${index}`, answer: index }))

const textsOf = (tasks: ReadonlyArray<AgentTasks.AgentTask>) => tasks.map(({ text }) => text)

describe("the tasks of an agent", () => {
  it.effect("are the rows of a file, with a fifth held out by the hashes of their texts", () =>
    Effect.gen(function*() {
      const { test, train } = yield* loaded({ "tasks.jsonl": numbered }, "tasks.jsonl")
      const shuffled = yield* loaded({ "tasks.jsonl": numbered.toReversed() }, "tasks.jsonl")
      assert.lengthOf(test, 2)
      assert.sameMembers([...textsOf(train), ...textsOf(test)], numbered.map(({ task }) => task))
      assert.sameMembers([...textsOf(shuffled.test)], [...textsOf(test)])
      assert.deepStrictEqual(test.map(({ row }) => `task ${row["answer"]}`), textsOf(test))
    }))

  it.effect("with the same text are held out together", () =>
    Effect.gen(function*() {
      const { test, train } = yield* loaded({ "t.jsonl": [...numbered, ...numbered] }, "t.jsonl", 3)
      assert.deepStrictEqual([train.length, test.length], [14, 6])
    }))

  it.effect("come from train and test in a folder, with the text as task, question or prompt", () =>
    Effect.gen(function*() {
      const files = {
        "train.jsonl": [{ question: "a" }, { prompt: "b" }],
        "test.jsonl": [{ task: "c", question: "d" }]
      }
      const { test, train } = yield* loaded(files, ".")
      assert.deepStrictEqual([textsOf(train), textsOf(test)], [["a", "b"], ["c"]])
    }))

  it.effect("are refused if a row has no text or no task is left to train on", () =>
    Effect.gen(function*() {
      const wrong = yield* Effect.flip(loaded({ "t.jsonl": [{ task: "a" }, { answer: 1 }] }, "t.jsonl"))
      const none = yield* Effect.flip(loaded({ "t.jsonl": [{ task: "a" }] }, "t.jsonl", 1))
      assert.include(wrong.message, "row 2: has the fields answer, expected a text as task or question or prompt")
      assert.include(none.message, "has 1 tasks, expected more than the 1 that are held out")
    }))
})
