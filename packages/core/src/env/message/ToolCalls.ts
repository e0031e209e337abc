/** Runs the tool calls of one message, in parallel or one by one, and returns their answers in the order of the calls. */
import * as Effect from "effect/Effect"
import * as Message from "../../chat/Message.ts"
import * as EnvMetric from "../../records/EnvMetric.ts"
import type * as Env from "../Env.ts"
import * as FunctionTool from "./FunctionTool.ts"

export type Execution = "parallel" | "sequential"

export type Tools<E, R> = ReadonlyMap<string, FunctionTool.FunctionTool<E, R>>

export interface Answered {
  readonly messages: ReadonlyArray<Message.Message>
  readonly stop: boolean
  readonly metrics: EnvMetric.Metrics
  readonly logs: NonNullable<Env.Reported["logs"]>
}

const call = <E, R>(
  tools: Tools<E, R>,
  { function: asked }: Message.ToolCall
): Effect.Effect<FunctionTool.Answer, E, R> => {
  const tool = tools.get(asked.name)
  if (tool !== undefined) return tool.call(asked.arguments)
  const known = [...tools.keys()].join(", ")
  return Effect.succeed(FunctionTool.failed("tool_not_found", `there is no tool "${asked.name}"; known are: ${known}`))
}

const toMessage = (
  { content }: FunctionTool.Answer,
  { function: { name }, id }: Message.ToolCall
): Message.Message => ({
  role: "tool",
  content,
  name,
  ...(id !== undefined && { toolCallId: id })
})

const errors = (answers: ReadonlyArray<FunctionTool.Answer>): EnvMetric.Metrics => {
  const count = answers.filter(({ failure }) => failure !== undefined).length
  return count === 0 ? {} : { tool_errors: EnvMetric.sum(count) }
}

export const run = Effect.fnUntraced(function*<E, R>(
  tools: Tools<E, R>,
  calls: ReadonlyArray<Message.ToolCall>,
  execution: Execution
): Effect.fn.Return<Answered, E, R> {
  const concurrency = execution === "parallel" ? "unbounded" : 1
  const pairs = yield* Effect.forEach(
    calls,
    (asked) => Effect.map(call(tools, asked), (answer) => ({ asked, answer })),
    { concurrency }
  )
  const answers = pairs.map(({ answer }) => answer)
  return {
    messages: pairs.map(({ answer, asked }) => toMessage(answer, asked)),
    stop: answers.some(({ stop }) => stop === true),
    metrics: answers.reduce((all, { metrics }) => EnvMetric.merge(all, metrics ?? {}), errors(answers)),
    logs: Object.fromEntries(pairs.flatMap(({ answer, asked: { function: asked } }, index) => [
      [`tool_call_${index}`, `${asked.name}(${asked.arguments})`],
      [`tool_result_${index}`, Message.text(answer)]
    ]))
  }
})
