/** The policy and the judge are models of different families, each with its own renderer and sampler. */
import { ChatModel, Message, ProblemEnv, ProblemGroupBuilder, Tinker, type TinkerError } from "@effect-rl/core"
import type { Renderer, Tokenizer } from "@effect-rl/core/renderers"
import { Effect, type Scope } from "effect"
import { holds, type Same } from "./Same.ts"

const makeJudge = Effect.gen(function*() {
  const tinker = yield* Tinker.Tinker
  const model = yield* ChatModel.resolve("meta-llama/Llama-3.3-70B-Instruct", { renderer: "llama3" })
  const sampler = yield* tinker.createSamplingClient({ baseModel: model.name })
  return Effect.fnUntraced(function*(question: string, answer: string) {
    const prompt = yield* model.renderer.generationPrompt([Message.user(`${question}\n${answer}\nGood? yes or no`)])
    const { sequences } = yield* sampler.sample({ prompt, params: { maxTokens: 4, stop: model.renderer.stop } })
    const verdicts = yield* Effect.forEach(sequences, ({ tokens }) => model.renderer.parse(tokens))
    return verdicts.every(({ message }) => Message.text(message).startsWith("yes"))
  })
})

export const makeBuilder = Effect.gen(function*() {
  const policy = yield* ChatModel.resolve("Qwen/Qwen3-8B", { renderer: "qwen3_disable_thinking" })
  const judge = yield* makeJudge
  const question = "Name a bird."
  return ProblemGroupBuilder.make({
    key: "bird",
    size: 8,
    env: () =>
      ProblemEnv.make({
        model: policy,
        question,
        referenceAnswer: "",
        checkAnswer: (answer) => judge(question, answer)
      })
  })
})

type Group = Effect.Success<Effect.Success<typeof makeBuilder>["open"]>

holds<Same<Effect.Error<ReturnType<Group["makeEnv"]>>, TinkerError.TinkerError | Renderer.RendererError>>()
holds<Same<Effect.Services<typeof makeBuilder>, Scope.Scope | Tinker.Tinker | Tokenizer.Tokenizers>>()
