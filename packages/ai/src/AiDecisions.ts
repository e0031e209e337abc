/** Language models as `effect/ai` decision models, with exact probabilities for a fixed set of answers. */
import { type ChatModel, TinkerError } from "@effect-rl/core"
import { ModelInput, type SamplingClient } from "@effect-rl/core/backend"
import type { Renderer } from "@effect-rl/core/renderers"
import * as AiError from "effect/ai/AiError"
import type * as Decision from "effect/ai/Decision"
import * as DecisionModel from "effect/ai/DecisionModel"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ChoicePrompt from "./ChoicePrompt.ts"

/** The weights that answer questions: a chat model and the client that scores its tokens. */
export interface Scorer {
  readonly model: Pick<ChatModel.ChatModel, "renderer" | "tokenizer" | "capabilities">
  readonly client: Pick<SamplingClient.SamplingClient, "sample" | "computeLogprobs">
}

/** The probabilities of one question's answers, and the tokens read to compute them. */
export interface Scored {
  /** The probabilities in the order of the choices. They sum to 1. */
  readonly probabilities: ReadonlyArray<number>
  readonly inputTokens: number
}

const softmax = (logits: ReadonlyArray<number>): ReadonlyArray<number> => {
  const highest = Math.max(...logits)
  const weights = logits.map((logit) => Math.exp(logit - highest))
  const sum = weights.reduce((total, weight) => total + weight, 0)
  return weights.map((weight) => weight / sum)
}

interface Read {
  /** The log-probability of each choice's token after the prompt. */
  readonly logprobs: ReadonlyArray<number>
  readonly inputTokens: number
}

/** The candidate tokens at the position after the prompt. Positions inside the prompt have no candidates. */
const behind = (prompt: ModelInput.ModelInput, tokens: ReadonlyArray<number>) => {
  const asked = new Int32Array(prompt.length * tokens.length).fill(-1)
  asked.set(tokens, asked.length - tokens.length)
  return { tokens: asked, candidates: tokens.length }
}

const noTargets = new TinkerError.TinkerError({
  operation: "sample",
  reason: new TinkerError.Unavailable({ detail: "the answer has no targetPromptLogprobs, which the request asked for" })
})

/** Scores all choices in one request. A request must sample at least one token, which is ignored. */
const together = Effect.fnUntraced(function*(
  { client }: Scorer,
  { prompt, tokens }: ChoicePrompt.ChoicePrompt
): Effect.fn.Return<Read, TinkerError.TinkerError> {
  const { targetPromptLogprobs } = yield* client.sample({
    prompt: ModelInput.append(prompt, Int32Array.from(tokens.slice(0, 1))),
    params: { maxTokens: 1 },
    targetPromptLogprobs: behind(prompt, tokens)
  })
  if (targetPromptLogprobs === undefined) return yield* noTargets
  return { logprobs: Array.from(targetPromptLogprobs.logprobs.slice(-tokens.length)), inputTokens: prompt.length + 1 }
})

/** Scores each choice in its own request. */
const oneByOne = Effect.fnUntraced(function*(
  { client }: Scorer,
  { prompt, tokens }: ChoicePrompt.ChoicePrompt
): Effect.fn.Return<Read, TinkerError.TinkerError> {
  const logprobs = yield* Effect.forEach(
    tokens,
    (token) =>
      Effect.map(client.computeLogprobs(ModelInput.append(prompt, Int32Array.of(token))), (all) => all.at(-1) ?? NaN),
    { concurrency: "unbounded" }
  )
  return { logprobs, inputTokens: tokens.length * (prompt.length + 1) }
})

/**
 * The probabilities of a question's choices, normalized over the choices. Each choice is one token after the same prompt, scored by its
 * log-probability. All choices are scored in one request if the model has the `targetPromptLogprobs` capability; otherwise each needs its
 * own request.
 *
 * @see tinker-cookbook `recipes.decisions.decision: sample_decision`
 */
export const score = Effect.fnUntraced(function*(
  scorer: Scorer,
  question: ChoicePrompt.Question
): Effect.fn.Return<Scored, Renderer.RendererError | TinkerError.TinkerError> {
  const choices = yield* ChoicePrompt.make(scorer.model, question)
  const read = scorer.model.capabilities.sampling?.includes("targetPromptLogprobs") === true ? together : oneByOne
  const { inputTokens, logprobs } = yield* read(scorer, choices)
  return { probabilities: softmax(logprobs), inputTokens }
})

type Decidable = Exclude<Decision.Any, Decision.Locate>

const outcomes = ["false", "true"] as const

const choicesOf = (decision: Decidable): ReadonlyArray<ChoicePrompt.Choice> => {
  switch (decision._tag) {
    case "Classify":
      return Object.entries(decision.criteria).map(([label, description]) => ({
        label,
        description: description ?? undefined
      }))
    case "Rate":
      return decision.criteria
    case "Probability":
      return outcomes.map((label) => ({ label, description: decision.criteria?.[label] }))
  }
}

const mostLikely = (probabilities: ReadonlyArray<number>) => probabilities.indexOf(Math.max(...probabilities))

const answerOf = (decision: Decidable, probabilities: ReadonlyArray<number>): DecisionModel.ProviderAnswer => {
  if (decision._tag === "Probability") return { _tag: "Probability", probability: probabilities[1] ?? NaN }
  const labels = choicesOf(decision).map(({ label }) => label)
  const named = Object.fromEntries(labels.map((label, index) => [label, probabilities[index] ?? NaN]))
  if (decision._tag === "Classify") {
    return { _tag: "Classify", label: labels[mostLikely(probabilities)] ?? "", probabilities: named }
  }
  const rating = probabilities.reduce((sum, probability, index) => sum + probability * index, 0)
  return { _tag: "Rate", rating: Math.min(rating, labels.length - 1), probabilities: named }
}

const failed = (error: Renderer.RendererError | TinkerError.TinkerError) =>
  AiError.make({
    module: "AiDecisions",
    method: "decide",
    reason: error._tag === "RendererError"
      ? new AiError.InvalidRequestError({ description: error.message })
      : new AiError.UnknownError({ description: error.message })
  })

/**
 * A decision model that scores answers with a model's weights. Classifications return the probability of each label, ratings the expected
 * level, and probability questions the probability of `true`. A question has 2 to 26 answers. Images are refused.
 *
 * @example
 * const triage = Decision.make({
 *   input: Schema.String,
 *   decisions: { urgent: Decision.probability({ instructions: "Must it be answered today?" }) }
 * })
 * DecisionModel.decide(triage, { input: "It is broken." }).pipe(Effect.provide(AiDecisions.layer({ model, client })))
 */
export const make = (scorer: Scorer): Effect.Effect<DecisionModel.DecisionModel> =>
  DecisionModel.make({
    decide: ({ decisions, state }) =>
      Effect.forEach(
        Object.entries(decisions),
        ([name, decision]) =>
          Effect.map(
            score(scorer, { state, instructions: decision.instructions, choices: choicesOf(decision) }),
            ({ inputTokens, probabilities }) => ({ name, inputTokens, answer: answerOf(decision, probabilities) })
          ),
        { concurrency: "unbounded" }
      ).pipe(
        Effect.map((answers) => ({
          answers: Object.fromEntries(answers.map(({ answer, name }) => [name, answer])),
          usage: { inputTokens: answers.reduce((sum, { inputTokens }) => sum + inputTokens, 0), outputTokens: 0 }
        })),
        Effect.mapError(failed)
      )
  })

export const layer = (scorer: Scorer): Layer.Layer<DecisionModel.DecisionModel> =>
  Layer.effect(DecisionModel.DecisionModel, make(scorer))
