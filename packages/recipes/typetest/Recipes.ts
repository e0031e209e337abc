/** Recipes with their own errors and services. */
import { type ChatModel, type Env, Rl, RLDataset } from "@effect-rl/core"
import type { Renderer } from "@effect-rl/core/renderers"
import { Recipe, TrainingSettings } from "@effect-rl/recipes"
import { Context, Effect, Schema } from "effect"

class SandboxLost extends Schema.TaggedError<SandboxLost>()("SandboxLost", {}) {}

class Sandbox extends Context.Service<Sandbox, {
  readonly run: (code: string) => Effect.Effect<number, SandboxLost>
}>()("Sandbox") {}

declare const prompt: Env.Prompt

const env: Env.Env<SandboxLost, Sandbox> = {
  initialObservation: Effect.succeed(prompt),
  step: () => Effect.map(Sandbox.use(({ run }) => run("1 + 1")), (reward): Env.Step => ({ _tag: "Done", reward }))
}

const group = (key: string) => ({
  key,
  size: 4,
  tags: [],
  open: Effect.succeed({ makeEnv: () => Effect.succeed(env) })
})

const dataset = RLDataset.fromArray(["one", "two"], { groupsPerBatch: 1, group })

const settings = Schema.Struct(TrainingSettings.fields({
  model: "Qwen/Qwen3-8B",
  iterations: 2,
  groupsPerBatch: 1,
  groupSize: 4,
  learningRate: 1e-4,
  maxTokens: 16,
  evalEvery: 0
}))

const sandboxed = Recipe.make({
  name: "sandboxed",
  description: "Runs code",
  settings,
  build: (model, settings) => Recipe.task({ options: { ...TrainingSettings.options(model, settings), dataset } })
})

type Failure<R> = R extends Recipe.Recipe<infer E, infer _R> ? E : never
type Needs<R> = R extends Recipe.Recipe<infer _E, infer R2> ? R2 : never

/** Both type parameters contain only what the recipe declares, and nothing that the environment adds. */
export const lost: Extract<Failure<typeof sandboxed>, { readonly _tag: "SandboxLost" }> = new SandboxLost()
export const needs: Needs<typeof sandboxed> extends Sandbox ? true : false = true

// @ts-expect-error its errors are not those of a recipe without any
export const closed: Recipe.Recipe<never, Sandbox> = sandboxed

// @ts-expect-error a service that it needs is not given
export const complete: Recipe.Recipe<Failure<typeof sandboxed>> = sandboxed

export const unnamed = Recipe.make({
  name: "unnamed",
  description: "Has no model",
  // @ts-expect-error a recipe's settings name the model
  settings: Schema.Struct({}),
  build: () => Effect.die("not built")
})

declare const model: ChatModel.ChatModel
declare const problems: RLDataset.RLDataset<Renderer.RendererError>

// @ts-expect-error a recipe says how long a response may be
export const unlimited = Recipe.task({ options: { model, dataset: problems } })

// @ts-expect-error an estimator has a name, by which a resumed run is compared
export const lambda = Rl.run({ model, dataset: problems, update: { credit: () => new Float32Array(4) } })

// @ts-expect-error there is no such option
export const misspelt = Rl.run({ model, dataset: problems, sampling: { maxToken: 64 } })

// @ts-expect-error a duration is not any text
export const untimed = Rl.run({ model, dataset: problems, rollout: { memberTimeout: "soon" } })
