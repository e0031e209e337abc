/** A policy that calls one tool after another, regardless of their results. */
import { Message, type Policy } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import type { Renderer } from "@effect-rl/core/renderers"
import { Effect } from "effect"

/** Parses the `i`-th response as a call to the `i`-th named tool, or as the final answer if the name is undefined. */
export const renderer = (...names: ReadonlyArray<string | undefined>): Renderer.Renderer => {
  let turn = 0
  return {
    name: "agent",
    stop: [0],
    hasExtensionProperty: false,
    generationPrompt: (messages) => Effect.succeed(ModelInput.fromTokens(new Int32Array(messages.length))),
    parse: () =>
      Effect.sync(() => {
        const name = names[turn++]
        const toolCalls = name === undefined ? [] : [{ function: { name, arguments: `{"a": 1, "b": 2}` } }]
        return { message: { ...Message.assistant("done"), toolCalls }, termination: "stop_sequence" }
      }),
    stream: () => ({ push: () => [], end: Effect.die("not part of a rollout") }),
    supervisedExample: () => Effect.die("not part of a rollout"),
    supervisedExamples: () => Effect.die("not part of a rollout"),
    toolsPrefix: () => Effect.succeed([])
  }
}

export const policy: Policy.Policy = {
  act: () => Effect.succeed({ tokens: Int32Array.of(0), logprobs: Float32Array.of(-1), stopReason: "stop" })
}

export const key = { iteration: 0, group: "agent", member: 0, attempt: 0 }
