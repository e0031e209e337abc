import { AiDecisions } from "@effect-rl/ai"
import { Renderers, Tinker, type TinkerError } from "@effect-rl/core"
import { Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { Decision, DecisionModel } from "effect/ai"

const tokenizer = TestTokenizer.characters

/** A model that gives each letter behind `choice#` this probability, up to a factor. */
const weighing = (weights: Readonly<Record<string, number>>): Script.Script => ({
  tokenizer,
  computeLogprobs: (prompt) => {
    const tokens = prompt.chunks.flatMap((chunk) => chunk._tag === "Image" ? [] : [...chunk.tokens])
    const logprobs = new Float32Array(tokens.length).fill(-1)
    logprobs[tokens.length - 1] = Math.log(weights[tokenizer.decode(tokens.slice(-1))] ?? 0)
    return logprobs
  }
})

const judge = (name: string) =>
  Layer.unwrap(Effect.gen(function*() {
    const tinker = yield* Tinker.Tinker
    const client = yield* tinker.createSamplingClient({ baseModel: Script.defaultModel })
    const renderer = yield* Renderers.byName(name, tokenizer)
    return AiDecisions.layer({ model: { renderer, tokenizer }, client })
  }))

const Ticket = Schema.Struct({ subject: Schema.String })

const triage = Decision.make({
  input: Ticket,
  decisions: {
    team: Decision.classify({ instructions: "Which team?", criteria: { billing: "payments", technical: null } }),
    urgency: Decision.rate({
      instructions: "How urgent?",
      criteria: [
        { label: "low", description: "can wait" },
        { label: "middle", description: "this week" },
        { label: "high", description: "today" }
      ]
    }),
    angry: Decision.probability({ instructions: "The writer is angry" })
  }
})

const decide = (weights: Readonly<Record<string, number>>, renderer = "qwen3_instruct") =>
  DecisionModel.decide(triage, { input: { subject: "Charged twice" } }).pipe(
    Effect.provide(judge(renderer)),
    Effect.provide(ScriptedTinker.layer(weighing(weights)))
  )

describe("a model as a decision model", () => {
  it.effect.each(["qwen3_instruct", "qwen3", "llama3", "role_colon"])(
    "gives each answer its probability among the answers, asked by %s",
    (renderer) =>
      Effect.gen(function*() {
        const { answers } = yield* decide({ A: 0.1, B: 0.3, C: 0.1 }, renderer)
        assert.strictEqual(answers.team.label, "technical")
        assert.closeTo(answers.team.probabilities.billing, 0.25, 1e-6)
        assert.strictEqual(answers.urgency.label, "middle")
        assert.closeTo(answers.urgency.rating, 1, 1e-6)
        assert.closeTo(answers.urgency.probabilities.high, 0.2, 1e-6)
        assert.closeTo(answers.angry.probability, 0.75, 1e-6)
      })
  )

  it.effect("samples nothing, and counts what it reads", () =>
    Effect.gen(function*() {
      const { usage } = yield* decide({ A: 1, B: 1, C: 1 })
      assert.strictEqual(usage.outputTokens, 0)
      assert.isAbove(usage.inputTokens ?? 0, 500)
    }))

  it.effect("shows the model the input, the instructions and the answers", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const script: Script.Script = {
        tokenizer,
        computeLogprobs: (prompt) => {
          const tokens = prompt.chunks.flatMap((chunk) => chunk._tag === "Image" ? [] : [...chunk.tokens])
          seen.push(tokenizer.decode(tokens))
          return new Float32Array(tokens.length)
        }
      }
      yield* DecisionModel.decide(triage, { input: { subject: "Charged twice" } }).pipe(
        Effect.provide(judge("qwen3_instruct")),
        Effect.provide(ScriptedTinker.layer(script))
      )
      assert.lengthOf(seen, 2 + 3 + 2)
      const [first = ""] = seen.filter((text) => text.includes("Which team?"))
      assert.include(first, "{\"subject\":\"Charged twice\"}")
      assert.include(first, "choice#A: billing (payments)\nchoice#B: technical")
      assert.isTrue(first.endsWith("<|im_start|>assistant\nchoice#A"), first.slice(-60))
    }))
})

describe("what cannot be decided is an AiError", () => {
  it.effect("for more answers than letters", () =>
    Effect.gen(function*() {
      const criteria = Object.fromEntries(Array.from({ length: 27 }, (_, index) => [`label ${index}`, null]))
      const many = Decision.make({
        input: Ticket,
        decisions: { which: Decision.classify({ instructions: "Which?", criteria }) }
      })
      const error = yield* DecisionModel.decide(many, { input: { subject: "x" } }).pipe(
        Effect.provide(judge("qwen3_instruct")),
        Effect.provide(ScriptedTinker.layer(weighing({}))),
        Effect.flip
      )
      assert.include(error.message, "a question has 27 choices, expected 2 to 26")
    }))

  it.effect("for a tokenizer that joins the letter with what is before it", () =>
    Effect.gen(function*() {
      const joining = TestTokenizer.make({
        name: "joining",
        specialTokens: TestTokenizer.specialTokens,
        pieces: [...TestTokenizer.characterPieces, "#A"]
      })
      const renderer = yield* Renderers.byName("qwen3_instruct", joining)
      const client = { computeLogprobs: (): Effect.Effect<Float32Array, TinkerError.TinkerError> => Effect.never }
      const error = yield* Effect.flip(
        AiDecisions.score({ model: { renderer, tokenizer: joining }, client }, {
          state: "x",
          instructions: "Which?",
          choices: [{ label: "one" }, { label: "two" }]
        })
      )
      assert.include(error.message, "does not write each letter behind \"choice#\" as a token of its own")
    }))
})
