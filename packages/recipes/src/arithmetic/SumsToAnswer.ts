/** Sums with boxed answers, for recipes that train on examples: problems to evaluate on, and to play. */
import { type ChatModel, Evaluator, type Rl } from "@effect-rl/core"
import { RunOptions, type WeightedDatum } from "@effect-rl/core/program"
import type { Renderer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Recipe from "../Recipe.ts"
import * as BoxedAddition from "./BoxedAddition.ts"
import * as Sum from "./Sum.ts"

/** Errors of a run on examples with an evaluator of answers. */
export type Error = Rl.Error | Renderer.RendererError | WeightedDatum.InvalidExample

/** How often the answers to the 512 held-out sums are right, sampled at temperature 1. */
export const evaluator = (model: ChatModel.ChatModel, maxTokens: number) =>
  Evaluator.testSet({ name: "held_out", groups: BoxedAddition.heldOut(model), maxTokens })

/** The right answer to the sum in a prompt. */
export const answerTo = (prompt: string) => Option.map(Sum.ofPrompt(prompt), String)

/** Sums that a person may answer, one at a time. */
export const toPlay = (model: ChatModel.ChatModel, batches: number) =>
  BoxedAddition.dataset({ model, batches, groupsPerBatch: 1, groupSize: 1 })

type Parts =
  & Pick<Recipe.Task<Error>, "run" | "check" | "maxTokens">
  & Partial<Pick<Recipe.Task<Error>, "dataset" | "examples" | "readers">>

/** The task of a run with these options. Its problems are for playing alone, one sum at a time, unless it has others. */
export const task = Effect.fnUntraced(function*(options: RunOptions.RunOptions<Error>, parts: Parts) {
  const { run: settings } = yield* RunOptions.resolve(options)
  const task: Recipe.Task<Error> = {
    model: options.model,
    dataset: toPlay(options.model, settings.iterations ?? 1),
    evaluators: options.run?.evaluators ?? [],
    settings,
    turns: 1,
    answerTo,
    ...parts
  }
  return task
})
