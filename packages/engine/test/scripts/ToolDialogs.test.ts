import { Message } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { Renderer, Renderers } from "@effect-rl/core/renderers"
import { HuggingFaceTokenizer } from "@effect-rl/files"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import * as Random from "../../scripts/corpus/Random.ts"
import * as ToolDialogs from "../../scripts/corpus/tools/ToolDialogs.ts"
import * as ToolHabits from "../../scripts/corpus/tools/ToolHabits.ts"
import * as ToolTask from "../../scripts/corpus/tools/ToolTask.ts"
import * as ToolText from "../../scripts/corpus/tools/ToolText.ts"
import * as Words from "../../scripts/corpus/tools/Words.ts"

const preset = (file: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../presets/tiny-tools/${file}`, import.meta.url), "utf8"))

const tokenizer = HuggingFaceTokenizer.fromJson(
  "tiny-tools",
  preset("tokenizer.json"),
  preset("tokenizer_config.json")
)

const offers = (lexicon: Words.Lexicon, seed: number) => {
  const random = Random.make(seed)
  return Array.from({ length: 400 }, () => ToolTask.offer(random, lexicon))
}

/** The words of a text in lower case. A camel-case name is split into its words. */
const wordsOf = (text: string) => text.split(/[^A-Za-z]+|(?<=[a-z])(?=[A-Z])/).map((word) => word.toLowerCase())

describe("the tool corpus", () => {
  it("mentions no held-out topic in training and uses held-out names in the evaluation", () => {
    const random = Random.make(3)
    const told = offers(Words.trained, 1).flatMap((offer) =>
      ToolDialogs.conversation(random, Words.trained, offer, ToolHabits.mixed, 1).flatMap(({ text }) => wordsOf(text))
    )
    const known = new Set(told)
    for (const topic of ["temperature", "pressure", "balance", "climate", "genre"]) {
      assert.isTrue(Words.heldOut.topics.includes(topic))
      assert.isFalse(known.has(topic))
    }
    const invented = Array.from({ length: 200 }, () => Words.heldOut.invent(random))
    assert.deepStrictEqual(invented.filter((word) => !Words.isHeldOut(word) || known.has(word)), [])
  })

  it("offers up to five tools with different names, and calls only offered tools with all their parameters", () => {
    for (const { task, tools } of offers(Words.trained, 2)) {
      const parametersOf = new Map(tools.map(({ name, parameters }) => [name, parameters["required"]]))
      assert.strictEqual(parametersOf.size, tools.length)
      assert.isAtMost(tools.length, 5)
      for (const { call } of task().steps) {
        assert.deepStrictEqual<unknown>(Object.keys(call.arguments), parametersOf.get(call.name))
      }
    }
  })

  it("has requests with two calls, one call or none, which state the arguments of their first call", () => {
    const tasks = offers(Words.trained, 4).map(({ task }) => task())
    assert.deepStrictEqual([...new Set(tasks.map(({ steps }) => steps.length))].sort(), [0, 1, 2])
    for (const { request, steps } of tasks) {
      for (const value of Object.values(steps[0]?.call.arguments ?? {})) assert.include(request, String(value))
    }
  })

  it.effect("matches the renderer's format for conversations", () =>
    Effect.gen(function*() {
      const { encode } = yield* tokenizer
      const renderer = yield* Renderers.byName("qwen3_instruct", yield* tokenizer)
      for (const { task, tools } of offers(Words.trained, 5).slice(0, 20)) {
        const { answer, request, steps } = task()
        const written = ToolText.system(tools, "Be brief.") + ToolText.asked(request) +
          steps.map(({ call, result }) => `${ToolText.written(call)}<|im_end|>${ToolText.told(result)}`).join(
            ""
          ) + `${answer}<|im_end|>${ToolText.asked("Thanks!")}`
        const messages: ReadonlyArray<Message.Message> = [
          Message.system("Be brief."),
          Message.user(request),
          ...steps.flatMap(({ call, result }): ReadonlyArray<Message.Message> => [
            {
              role: "assistant",
              content: "",
              toolCalls: [{ function: { name: call.name, arguments: JSON.stringify(call.arguments) } }]
            },
            { role: "tool", content: result }
          ]),
          Message.assistant(answer),
          Message.user("Thanks!")
        ]
        const prompt = yield* renderer.generationPrompt(yield* Renderer.withTools(renderer, tools, messages))
        assert.deepStrictEqual([...(yield* ModelInput.toTokens(prompt))], Array.from(encode(written)))
      }
    }))

  it("ends with about as many wrong calls as right ones", () => {
    const random = Random.make(6)
    const said = offers(Words.trained, 7).flatMap((offer) => {
      const task = offer.task()
      const [step] = task.steps
      return step === undefined
        ? []
        : [ToolHabits.call(random, ToolHabits.mixed, offer, task, step) === ToolText.written(step.call)]
    })
    const right = said.filter((isRight) => isRight).length / said.length
    assert.isAbove(right, 0.4)
    assert.isBelow(right, 0.65)
  })
})
