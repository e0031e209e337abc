/** Several kinds of tasks in one dataset; their errors and requirements are combined automatically. */
import {
  type ChatModel,
  type Env,
  type EnvGroupBuilder,
  type InvalidOption,
  Loss,
  ProblemEnv,
  ProblemGroupBuilder,
  Rl,
  RLDataset,
  type RunStore,
  type Tinker
} from "@effect-rl/core"
import type { Renderer } from "@effect-rl/core/renderers"
import { Context, Effect, Schema, type Scope, type Stream } from "effect"
import { holds, type Same } from "./Same.ts"

class SandboxLost extends Schema.TaggedError<SandboxLost>()("SandboxLost", { id: Schema.String }) {}
class JudgeAway extends Schema.TaggedError<JudgeAway>()("JudgeAway", {}) {}

interface Sandbox {
  readonly exec: (code: string) => Effect.Effect<string, SandboxLost>
}

class Sandboxes extends Context.Service<Sandboxes, {
  readonly open: Effect.Effect<Sandbox, SandboxLost, Scope.Scope>
}>()("Sandboxes") {}

class Judge extends Context.Service<Judge, {
  readonly approves: (text: string) => Effect.Effect<boolean, JudgeAway>
}>()("Judge") {}

declare const model: ChatModel.ChatModel
declare const prompt: Env.Prompt
declare const decode: (tokens: Int32Array) => string

const codeEnv = Effect.map(Sandboxes, ({ open }) => open).pipe(
  Effect.flatten,
  Effect.map((sandbox): Env.Env<SandboxLost> => ({
    initialObservation: Effect.succeed(prompt),
    step: ({ tokens }) =>
      Effect.map(sandbox.exec(decode(tokens)), (output) => ({ _tag: "Done", reward: Number(output === "3") }))
  }))
)

export const code: EnvGroupBuilder.EnvGroupBuilder<SandboxLost, Sandboxes> = {
  key: "code/1",
  size: 8,
  tags: ["code"],
  open: Effect.succeed({ makeEnv: () => codeEnv })
}

const essay = (index: number) =>
  ProblemGroupBuilder.make({
    key: `essay/${index}`,
    size: 2,
    env: () =>
      ProblemEnv.make({
        model,
        question: "Say something kind.",
        referenceAnswer: "",
        checkAnswer: (text) => Judge.use((judge) => judge.approves(text))
      })
  })

export const mixed = RLDataset.fromArray([0, 1], {
  groupsPerBatch: 1,
  group: (index) => index === 0 ? code : essay(index)
})

holds<
  Same<
    typeof mixed,
    RLDataset.RLDataset<
      SandboxLost | JudgeAway | Renderer.RendererError | InvalidOption.InvalidOption,
      Sandboxes | Judge
    >
  >
>()

export const run = Rl.run({
  model,
  dataset: mixed,
  sampling: { maxTokens: 64 },
  update: { learningRate: 1e-3, loss: Loss.ppo({ clipHigh: 1.28 }) }
})

holds<
  Same<
    Stream.Error<typeof run>,
    | SandboxLost
    | JudgeAway
    | Renderer.RendererError
    | Rl.Error
  >
>()
holds<Same<Stream.Services<typeof run>, Sandboxes | Judge | Tinker.Tinker | RunStore.RunStore>>()
