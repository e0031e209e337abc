/** Episodes with tools and scripted responses. */
import { FunctionTool, type Limits, Message, type Policy, Rollout, ToolEnv } from "@effect-rl/core"
import type { Sampling } from "@effect-rl/core/backend"
import type { Trajectory } from "@effect-rl/core/environments"
import type { Hooks } from "@effect-rl/core/program"
import { Effect, Option, Schema } from "effect"
import * as Talk from "./Talk.ts"

export const question = [Message.system("be brief"), Message.user("one two three")]

/** A call of `echo` or of the named tool. */
export const call = (name = "echo", args = "{}"): Message.ToolCall => ({ function: { name, arguments: args } })

export const calls = (count: number, content = "") =>
  Talk.parsed(content, { toolCalls: Array.from({ length: count }, () => call()) })
export const answer = (content = "done") => Talk.parsed(content)
export const unreadable = (error = "no json") =>
  Talk.parsed("", { unparsedToolCalls: [{ rawText: "<tool_call>", error }] })

/** A tool that answers with one word and counts its calls. */
export const echo = () => {
  const log: Array<string> = []
  const tool = (name: string, stop = false) =>
    FunctionTool.make({
      name,
      description: `says ${name}`,
      parameters: Schema.Struct({ text: Schema.optional(Schema.String) }),
      handler: ({ text = name }) => Effect.sync(() => ({ content: text, stop, told: log.push(text) }))
    })
  return { log, tools: [tool("echo"), tool("halt", true)] }
}

export interface Played {
  readonly trajectory: Trajectory.Trajectory
  readonly requests: ReadonlyArray<Policy.Request>
  readonly ran: ReadonlyArray<string>
  readonly graded: ReadonlyArray<ReadonlyArray<Message.Message>>
}

export interface Setting extends ToolEnv.Settings {
  readonly tools?: ReadonlyArray<FunctionTool.FunctionTool>
  /** The runner's own. */
  readonly caller?: Limits.Limits
  readonly hooks?: Hooks.Hooks
  /** Turns in which the policy's response is cut. */
  readonly cutAt?: ReadonlyArray<number>
  readonly sampled?: number
}

/** Plays an episode with the given parsed responses; its reward is 0.9. */
export const play = Effect.fnUntraced(function*(
  parses: ReadonlyArray<ReturnType<typeof answer>>,
  { caller = {}, cutAt = [], hooks = {}, sampled = 2, ...settings }: Setting = {}
) {
  const { log, tools } = echo()
  const graded: Array<ReadonlyArray<Message.Message>> = []
  const requests: Array<Policy.Request> = []
  const policy: Policy.Policy = {
    act: (request) => {
      const stopReason: Sampling.SampleStopReason = cutAt.includes(requests.length) ? "length" : "stop"
      requests.push(request)
      return Effect.succeed({
        tokens: new Int32Array(sampled).fill(1),
        logprobs: new Float32Array(sampled),
        stopReason
      })
    }
  }
  const env = yield* ToolEnv.make({
    model: { renderer: Talk.counting(...parses) },
    tools,
    messages: question,
    grade: (messages) => Effect.sync(() => ({ reward: 0.9, told: graded.push(messages) })),
    ...settings
  })
  const trajectory = yield* Rollout.episode(env, policy, Talk.key, { limits: caller, hooks })
  return { trajectory, requests, ran: log, graded } satisfies Played
})

export const rewards = ({ trajectory }: Played) => trajectory.transitions.map(({ reward }) => reward)
export const stopReason = ({ trajectory }: Played) => Option.getOrUndefined(trajectory.stopReason)
export const last = ({ trajectory }: Played) => trajectory.transitions.at(-1)
