import { AiDecisions } from "@effect-rl/ai"
import { Tinker } from "@effect-rl/core"
import { Renderers } from "@effect-rl/core/renderers"
import { Call, Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { Decision, DecisionModel } from "effect/ai"

const tokenizer = TestTokenizer.characters

/** A model that gives the letters after `choice#` probabilities in proportion to these weights. */
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
    const capabilities = yield* tinker.capabilities(Script.defaultModel)
    return AiDecisions.layer({ model: { renderer, tokenizer, capabilities }, client })
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
    "returns each answer's probability among the answers, with the renderer %s",
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

  it.effect("samples nothing, and counts the tokens that it reads", () =>
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

describe("a model with the targetPromptLogprobs capability", () => {
  const models = (sampling: ReadonlyArray<"targetPromptLogprobs">) => ({
    tokenizer,
    models: { [Script.defaultModel]: { contextLength: 4096, sampling } }
  })

  const decided = (script: Script.Script) =>
    Effect.gen(function*() {
      const { answers, usage } = yield* DecisionModel.decide(triage, { input: { subject: "Charged twice" } }).pipe(
        Effect.provide(judge("qwen3_instruct"))
      )
      const calls = yield* Call.CallLog.use(({ calls }) => calls)
      const asked = calls.map(({ _tag }) => _tag).filter((tag) => tag === "Sample" || tag === "ComputeLogprobs")
      return { answers, usage, asked }
    }).pipe(Effect.provide(ScriptedTinker.layer(script)))

  it.effect("is asked once per question, and decides like a model that is asked once per answer", () =>
    Effect.gen(function*() {
      const [together, oneByOne] = yield* Effect.all([decided(models(["targetPromptLogprobs"])), decided(models([]))])
      assert.deepStrictEqual(together.asked, ["Sample", "Sample", "Sample"])
      assert.deepStrictEqual(oneByOne.asked, Array.from({ length: 2 + 3 + 2 }, () => "ComputeLogprobs"))
      assert.deepStrictEqual(together.answers, oneByOne.answers)
      assert.isBelow(together.usage.inputTokens ?? NaN, (oneByOne.usage.inputTokens ?? NaN) / 2)
    }))

  it.effect("fails with an AiError if the backend returns no log-probabilities", () =>
    Effect.gen(function*() {
      const sequence = Script.text(tokenizer, "A")
      const error = yield* Effect.flip(
        decided({ ...models(["targetPromptLogprobs"]), sample: () => ({ sequences: [sequence] }) })
      )
      assert.include(error.message, "the answer has no targetPromptLogprobs")
    }))
})

describe("a decision that cannot be made fails with an AiError", () => {
  it.effect("because there are more answers than letters", () =>
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

  it.effect("because the tokenizer merges the letter with the text before it", () =>
    Effect.gen(function*() {
      const joining = TestTokenizer.make({
        name: "joining",
        specialTokens: TestTokenizer.specialTokens,
        pieces: [...TestTokenizer.characterPieces, "#A"]
      })
      const renderer = yield* Renderers.byName("qwen3_instruct", joining)
      const client: AiDecisions.Scorer["client"] = { sample: () => Effect.never, computeLogprobs: () => Effect.never }
      const error = yield* Effect.flip(
        AiDecisions.score(
          { model: { renderer, tokenizer: joining, capabilities: Script.defaultCapabilities }, client },
          {
            state: "x",
            instructions: "Which?",
            choices: [{ label: "one" }, { label: "two" }]
          }
        )
      )
      assert.include(error.message, "does not write each letter after \"choice#\" as a token of its own")
    }))
})
