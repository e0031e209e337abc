/** Sums in a box as problems beside training on examples: to measure answers on, and to play. */
import { type ChatModel, Evaluator, type Renderer, type Rl, type WeightedDatum } from "@effect-rl/core"
import * as Option from "effect/Option"
import * as BoxedAddition from "./BoxedAddition.ts"
import * as Sum from "./Sum.ts"

/** What ends a run on examples with an evaluator of answers. */
export type Error = Rl.Error | Renderer.RendererError | WeightedDatum.InvalidExample

/** How often the answers to the 512 held-out sums are right, sampled at temperature 1. */
export const evaluator = (model: ChatModel.ChatModel, maxTokens: number) =>
  Evaluator.testSet({ name: "held_out", groups: BoxedAddition.heldOut(model), maxTokens })

/** The right answer to the sum in a prompt. */
export const answerTo = (prompt: string) => Option.map(Sum.ofPrompt(prompt), String)

/** Sums that a person may answer, one at a time. */
export const toPlay = (model: ChatModel.ChatModel, batches: number) =>
  BoxedAddition.dataset({ model, batches, groups: 1, groupSize: 1 })
