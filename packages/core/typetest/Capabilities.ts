/** Options that need a missing capability of an environment do not compile. The error types of its tools and grader are combined. */
import {
  type ChatModel,
  FunctionTool,
  type InvalidOption,
  type Message,
  MessageEnv,
  type Policy,
  Rollout,
  ToolEnv
} from "@effect-rl/core"
import type { RolloutError } from "@effect-rl/core/program"
import type { Renderer } from "@effect-rl/core/renderers"
import { Context, Effect, Schema } from "effect"
import { holds, type Same } from "./Same.ts"

class SandboxLost extends Schema.TaggedError<SandboxLost>()("SandboxLost", { id: Schema.String }) {}
class NotFound extends Schema.TaggedError<NotFound>()("NotFound", { path: Schema.String }) {}
class JudgeAway extends Schema.TaggedError<JudgeAway>()("JudgeAway", {}) {}
class Sandbox extends Context.Service<Sandbox, {
  readonly read: (path: string) => Effect.Effect<string, NotFound | SandboxLost>
}>()("Sandbox") {}
class Judge extends Context.Service<Judge, {
  readonly grade: (messages: ReadonlyArray<Message.Message>) => Effect.Effect<{ readonly reward: number }, JudgeAway>
}>()("Judge") {}

declare const model: ChatModel.ChatModel
declare const policy: Policy.Policy
declare const messages: MessageEnv.Conversation

const talk = {
  initialMessages: Effect.succeed(messages),
  step: () => Effect.succeed({ _tag: "Done", reward: 1 } as const)
}
const patient = { ...talk, observeTruncated: () => Effect.succeed(messages) }
const careful = { ...talk, correct: () => Effect.succeed(messages) }

export const plain: MessageEnv.MessageEnv = talk
export const able = [
  MessageEnv.toEnv(talk, { model, onLength: "stop" }),
  MessageEnv.toEnv(patient, { model, onLength: "continue" }),
  MessageEnv.toEnv(careful, { model, parseErrors: { maxConsecutive: 1 } })
]

// @ts-expect-error it cannot take in a response that was cut
export const impatient = MessageEnv.toEnv(talk, { model, onLength: "continue" })

// @ts-expect-error whether it can is not known
export const forgotten = MessageEnv.toEnv(plain, { model, onLength: "continue" })

// @ts-expect-error it cannot take in a correction
export const careless = MessageEnv.toEnv(talk, { model, parseErrors: { maxConsecutive: 1 } })

const read = FunctionTool.make({
  name: "read",
  description: "Reads a file.",
  parameters: Schema.Struct({ path: Schema.String }),
  handler: ({ path }) => Sandbox.use((sandbox) => sandbox.read(path)),
  isFatal: (error) => error._tag === "SandboxLost"
})
holds<Same<typeof read, FunctionTool.FunctionTool<SandboxLost, Sandbox>>>()

const now = FunctionTool.make({
  name: "now",
  description: "Tells the time.",
  parameters: Schema.Struct({}),
  handler: () => Effect.fail(new NotFound({ path: "clock" }))
})
holds<Same<typeof now, FunctionTool.FunctionTool>>()

export const task = ToolEnv.make({
  model,
  tools: [read, now],
  messages,
  grade: (all) => Judge.use((judge) => judge.grade(all))
})

holds<
  Same<
    Effect.Success<typeof task>,
    MessageEnv.TokenEnv<JudgeAway | SandboxLost, Judge | Sandbox>
  >
>()
holds<Same<Effect.Error<typeof task>, InvalidOption.InvalidOption | Renderer.RendererError>>()

/** Inline use with inferred errors. */
export const rolledOut = Rollout.group({
  key: "task",
  size: 4,
  tags: [],
  open: Effect.succeed({ makeEnv: () => task })
}, policy)

holds<
  Same<
    Effect.Error<typeof rolledOut>,
    | JudgeAway
    | SandboxLost
    | Renderer.RendererError
    | InvalidOption.InvalidOption
    | InvalidOption.InvalidOption
    | RolloutError.RolloutError
  >
>()
