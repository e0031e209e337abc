import { RunStore, Tinker } from "@effect-rl/core"
import { Script, ScriptedTinker } from "@effect-rl/core/testing"
import { Recipes } from "@effect-rl/recipes"
import * as TeacherAnswers from "@effect-rl/recipes/distillation/TeacherAnswers"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Option, Stream } from "effect"
import * as TestModel from "../TestModel.ts"

const { tokenizer } = TestModel

/** A teacher that names the language of what it is asked about, if it is told to, and is not sure about "???". */
const teacher = ScriptedTinker.layer({
  tokenizer,
  models: { "effect-rl/scripted": { contextLength: 4096 } },
  sample: Script.reply(tokenizer, (prompt) => {
    const [, query] = /Which language is "(.*)"\?/.exec(prompt) ?? []
    const said = query === undefined
      ? "I was told nothing"
      : query === "???"
      ? "I am not sure."
      : `So: Final Answer: ${query.slice(0, 2)}`
    return Script.text(tokenizer, `${said}<|im_end|>`)
  })
})

const prompt = "Which language is \"{text}\"?"

const sample = Effect.fnUntraced(function*(train: ReadonlyArray<string>, pattern: RegExp) {
  const client = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ baseModel: "effect-rl/scripted" }))
  const model = yield* TestModel.model
  return yield* TeacherAnswers.sample(client, { prompt, train }, { model, maxTokens: 100, temperature: 0, pattern })
}, Effect.scoped)

const row = (query: string, answer: string) => ({
  messages: [{ role: "user", content: query }, { role: "assistant", content: answer }] as const
})

const folderOf = Effect.fnUntraced(function*(files: Readonly<Record<string, string>>) {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped()
  for (const [name, text] of Object.entries(files)) yield* fs.writeFileString(`${folder}/${name}`, text)
  return folder
})

layer(Layer.merge(NodeServices.layer, teacher))("the teacher's answers", (it) => {
  it.effect("are requested with the prompt, and learned without it, in the part that matches the pattern", () =>
    Effect.gen(function*() {
      const rows = yield* sample(["en garde", "de nada"], /Final Answer: (\w+)/)
      assert.deepStrictEqual(rows, [row("en garde", "en"), row("de nada", "de")])
    }))

  it.effect("are left out if the pattern does not match, and queries are inserted literally", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* sample(["???", "$& dollars"], /Final Answer: (\S+)/), [row("$& dollars", "$&")])
    }))

  it.effect("fail if none of them matches", () =>
    Effect.gen(function*() {
      const { message } = yield* Effect.flip(sample(["en garde"], /Answer = (\w+)/))
      assert.include(message, "pattern")
      assert.include(message, "a pattern that matches some of the teacher's answers")
    }))

  it.effect("are requested only once if a file stores them", () =>
    Effect.gen(function*() {
      const file = `${yield* folderOf({})}/answers.jsonl`
      const rows = [row("en garde", "en"), row("say \"hi\"\n", "sa")]
      assert.deepStrictEqual(yield* TeacherAnswers.kept(file, Effect.succeed(rows)), rows)
      assert.deepStrictEqual(yield* TeacherAnswers.kept(file, Effect.die("asked again")), rows)
    }))
})

layer(NodeServices.layer)("TeacherAnswers.load", (it) => {
  it.effect("reads the prompt and a query from each line", () =>
    Effect.gen(function*() {
      const queries = yield* TeacherAnswers.load(
        yield* folderOf({ "prompt.txt": prompt, "queries.txt": "en\n\n  de \n" })
      )
      assert.deepStrictEqual(queries, { prompt, train: ["en", "de"], test: [] })
    }))

  it.effect("names a missing placeholder, missing lines or a missing file", () =>
    Effect.gen(function*() {
      const messageOf = (files: Readonly<Record<string, string>>) =>
        Effect.map(Effect.flip(Effect.flatMap(folderOf(files), TeacherAnswers.load)), ({ message }) => message)
      assert.include(yield* messageOf({ "prompt.txt": "Which?", "queries.txt": "en" }), "does not contain {text}")
      assert.include(yield* messageOf({ "prompt.txt": prompt, "queries.txt": "\n" }), "has no lines")
      assert.include(yield* messageOf({ "prompt.txt": prompt }), "queries.txt")
    }))

  it.effect("holds out lists of words from the training of both teacher and student", () =>
    Effect.gen(function*() {
      const { test, train } = yield* TeacherAnswers.load("lists")
      assert.deepStrictEqual([train.length, test.length], [620, 100])
      assert.isFalse(test.some(({ query }) => train.includes(query)))
    }))
})

layer(Layer.merge(NodeServices.layer, teacher))("the recipe prompt_distillation", (it) => {
  const built = (settings: object, seeds: "sample" | "none" = "sample") =>
    Effect.gen(function*() {
      const { build } = yield* Recipes.promptDistillation.configure(settings)
      const model = yield* TestModel.model
      return yield* build({ ...model, capabilities: { ...model.capabilities, seeds } })
    })

  it.effect("gives reference answers to held-out lists", () =>
    Effect.gen(function*() {
      const { answerTo, evaluators } = yield* built({})
      const [first] = evaluators[0]?.groups ?? []
      assert.deepStrictEqual(answerTo(first?.key ?? ""), Option.some(JSON.stringify(first?.key.split(", "))))
    }))

  it.effect("needs a file for the answers if the backend cannot repeat them", () =>
    Effect.gen(function*() {
      const { run } = yield* built({}, "none")
      const { message } = yield* Effect.flip(Stream.runDrain(run)).pipe(Effect.provide(RunStore.RunStore.layerMemory))
      assert.include(message, "answers")
      assert.include(message, "cannot repeat the teacher's answers")
    }))

  it.effect("refuses a pattern that is not a regular expression", () =>
    Effect.gen(function*() {
      const { message } = yield* Effect.flip(built({ pattern: "(" }))
      assert.include(message, "a regular expression")
    }))
})
