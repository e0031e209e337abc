/** Tools that answer as they did in recorded conversations, so a model can be trained without the real tools. */
import { FunctionTool, Message } from "@effect-rl/core"
import type { OpenAi, ToolSpec } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Spoken from "../episode/Spoken.ts"

/** A call was not recorded, or was made more often than it was recorded although its recorded answers differ. */
export class UnrecordedCall extends Schema.TaggedError<UnrecordedCall>()("UnrecordedCall", {
  tool: Schema.String,
  arguments: Schema.String,
  /** How often the call was recorded. */
  recorded: Schema.Int
}) {
  override get message() {
    const often = this.recorded === 0 ? "was not recorded" : `has ${this.recorded} recorded answers, which differ`
    return `the call ${this.tool}(${this.arguments}) ${often}`
  }
}

/**
 * How an unrecorded call is answered. `fail`: the attempt fails with an `UnrecordedCall`. `tell`: the policy gets an
 * error, as from a failed tool.
 */
export type Unrecorded = "fail" | "tell"

const keyOf = ({ arguments: text, name }: Message.ToolCall["function"]) =>
  JSON.stringify([name, Spoken.argumentsOf(text)])

type Answers = ReadonlyMap<string, ReadonlyArray<Message.Message["content"]>>

/** The answers to each call, in the order in which they were recorded. */
const answersOf = (conversations: ReadonlyArray<OpenAi.Conversation>): Answers => {
  const answers = new Map<string, Array<Message.Message["content"]>>()
  for (const { messages } of conversations) {
    for (const [index, { toolCalls = [] }] of messages.entries()) {
      const after = messages.slice(index + 1)
      const end = after.findIndex(({ role }) => role !== "tool")
      const results = after.slice(0, end < 0 ? after.length : end)
      for (const [at, call] of toolCalls.entries()) {
        const answer = results.find(({ toolCallId }) => toolCallId !== undefined && toolCallId === call.id) ??
          results.filter(({ toolCallId }) => toolCallId === undefined)[at]
        if (answer === undefined) continue
        const key = keyOf(call.function)
        answers.set(key, [...answers.get(key) ?? [], answer.content])
      }
    }
  }
  return answers
}

/**
 * The tools that were offered to the model or called. Only the name is known of a tool that was called but not offered.
 */
const specsOf = (conversations: ReadonlyArray<OpenAi.Conversation>): ReadonlyArray<ToolSpec.ToolSpec> => {
  const specs = new Map<string, ToolSpec.ToolSpec>()
  const add = (spec: ToolSpec.ToolSpec) => specs.set(spec.name, specs.get(spec.name) ?? spec)
  for (const tool of conversations.flatMap(({ tools }) => tools)) add(tool)
  const calls = conversations.flatMap(({ messages }) => messages.flatMap(({ toolCalls }) => toolCalls ?? []))
  for (const { function: { name } } of calls) add({ name, description: "", parameters: { type: "object" } })
  return Array.from(specs.values())
}

const text = (content: Message.Message["content"]) =>
  JSON.stringify(typeof content === "string" ? content : Message.text({ content }))

/**
 * Answers the calls of one episode. Equal calls get the recorded answers in order. After the last answer, a further
 * call is answered only if all recorded answers are equal.
 */
const answering = (answers: Answers) => {
  const asked = new Map<string, number>()
  return (name: string, argumentText: string) => {
    const key = keyOf({ name, arguments: argumentText })
    const all = answers.get(key) ?? []
    const at = asked.get(key) ?? 0
    asked.set(key, at + 1)
    const answer = all[at] ?? (new Set(all.map(text)).size === 1 ? all[0] : undefined)
    return answer === undefined
      ? Effect.fail(new UnrecordedCall({ tool: name, arguments: argumentText, recorded: all.length }))
      : Effect.succeed<FunctionTool.Answer>({ content: answer })
  }
}

/**
 * An effect that makes the tools of recorded conversations for one episode. A call gets the recorded answers to the
 * same call in order, whatever the order and spacing of its arguments, and whatever other calls come in between.
 */
export const make = (conversations: ReadonlyArray<OpenAi.Conversation>, unrecorded: Unrecorded = "fail") => {
  const [answers, specs] = [answersOf(conversations), specsOf(conversations)]
  return Effect.sync(() => {
    const answer = answering(answers)
    return specs.map((spec): FunctionTool.FunctionTool<UnrecordedCall> => ({
      spec,
      call: (argumentText) =>
        unrecorded === "fail"
          ? answer(spec.name, argumentText)
          : Effect.catch(answer(spec.name, argumentText), ({ message }) =>
            Effect.succeed(FunctionTool.failed("execution_failed", message)))
    }))
  })
}

/**
 * A recorded conversation as a task for `ToolEnv.make`: the messages before its first answer, the text of its last
 * answer as the reference, and tools that answer as recorded.
 *
 * @example
 * Effect.gen(function*() {
 *   const task = yield* ReplayedTools.task({ messages, tools: [] })
 *   return yield* ToolEnv.make({
 *     ...task,
 *     model,
 *     grade: (said) => Effect.succeed({ reward: Message.text(said.at(-1) ?? Message.user("")) === task.reference ? 1 : 0 })
 *   })
 * })
 */
export const task = (conversation: OpenAi.Conversation, unrecorded?: Unrecorded) => {
  const { messages } = conversation
  const answer = messages.findIndex(({ role }) => role === "assistant")
  const [first, ...others] = messages.slice(0, answer)
  const last = messages.findLast(({ role }) => role === "assistant")
  const isSystem = first?.role === "system"
  return Effect.map(make([conversation], unrecorded), (tools) => ({
    ...(isSystem && { systemPrompt: Message.text(first) }),
    messages: isSystem || first === undefined ? others : [first, ...others],
    reference: last === undefined ? "" : Message.text(last),
    tools
  }))
}
