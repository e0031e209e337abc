/** A task of sums: a process with the engine builds a group from its two numbers. */
import { ChatModel, ProblemEnv } from "@effect-rl/core"
import { RolloutTask } from "@effect-rl/core/program"
import { Engine } from "@effect-rl/engine"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer, Schema } from "effect"

export const modelName = "effect-rl/tiny-64"

/** The environment variable that tells a thread the engine's checkpoint folder. */
export const checkpointsVariable = "EFFECT_RL_TEST_CHECKPOINTS"

export const resolved = ChatModel.resolve(modelName)

/** The engine with one thread. Processes with the same folder sample from the same saved weights. */
export const engine = (checkpoints: string) =>
  Layer.provide(Engine.layerOptions({ checkpoints, workers: 1 }), NodeServices.layer)

export const task = RolloutTask.make("sum", {
  payload: Schema.Struct({ left: Schema.Int, right: Schema.Int }),
  builder: ({ left, right }) => ({
    key: `${left}+${right}`,
    size: 4,
    tags: ["sums"],
    open: Effect.map(resolved, (model) => ({
      makeEnv: () =>
        Effect.succeed(ProblemEnv.make({
          model,
          question: `What is ${left} + ${right}? Write your answer in \\boxed{} format.`,
          referenceAnswer: String(left + right),
          checkAnswer: (text) => text.includes(`\\boxed{${left + right}}`)
        }))
    }))
  })
})
