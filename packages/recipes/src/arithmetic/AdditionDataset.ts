/** Batches of additions, each a group of attempts. */
import { type ChatModel, type ProblemEnv, ProblemGroupBuilder, type RLDataset } from "@effect-rl/core"
import type { Renderer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"

export interface Options {
  readonly model: Pick<ChatModel.ChatModel, "renderer">
  readonly batches: number
  /** Problems in a batch. */
  readonly groupsPerBatch: number
  readonly groupSize: number
}

/** The kind of additions, and which of them a batch holds. */
export interface Additions {
  readonly name: string
  readonly env: (model: Options["model"], a: number, b: number) => ProblemEnv.ProblemEnv
  readonly pairs: (batch: number, count: number, seed: number) => ReadonlyArray<readonly [a: number, b: number]>
}

export const make = (
  { env, name, pairs }: Additions,
  { batches, groupSize, groupsPerBatch, model }: Options
): RLDataset.RLDataset<Renderer.RendererError> => ({
  length: batches,
  fingerprint: `${name}/${groupsPerBatch}x${groupSize}`,
  batch: (index, seed) =>
    Effect.sync(() =>
      pairs(index, groupsPerBatch, seed).map(([a, b], group) =>
        ProblemGroupBuilder.make({ key: `${group}/${a}+${b}`, size: groupSize, env: () => env(model, a, b) })
      )
    )
})
