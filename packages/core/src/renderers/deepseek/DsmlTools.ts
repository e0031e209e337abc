/** How tools and their results are presented to DeepSeek V4.1. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Message from "../../chat/Message.ts"
import { RendererError } from "../../chat/Renderer.ts"
import type { ToolSpec } from "../../chat/ToolSpec.ts"
import * as ChatTemplate from "../ChatTemplate.ts"
import * as JsonSchema from "../text/JsonSchema.ts"
import * as PythonJson from "../text/PythonJson.ts"
import * as Dsml from "./Dsml.ts"

type Messages = ReadonlyArray<Message.Message>

const role = "tool_declare"

/** The caller's system prompt, and a message that declares the tools. */
export const prefix = (tools: ReadonlyArray<ToolSpec>, systemPrompt: string): Messages => {
  const payload = tools.map(({ description, name, parameters }) => ({
    type: "function",
    function: { name, description, parameters }
  }))
  return [
    ...(systemPrompt === "" ? [] : [Message.system(systemPrompt)]),
    ...(tools.length === 0 ? [] : [{ role, content: JsonSchema.stringify(payload) }])
  ]
}

/** Whether a message declares tools; a system message made from a declaration keeps the declaration's role as its name. */
export const declares = (message: Message.Message): boolean =>
  message.role === role || (message.role === "system" && message.name === role)

const declaration = (schemas: ReadonlyArray<string>) => {
  const { mark } = Dsml
  return [
    "## Tools\n",
    "You have access to a set of tools to help answer the user's question. You can invoke tools by writing a"
    + ` "${Dsml.calls[0]}" block like the following:\n`,
    Dsml.calls[0],
    `<${mark} invoke name="$TOOL_NAME">`,
    `<${mark} parameter name="$PARAMETER_NAME" string="true|false">$PARAMETER_VALUE</${mark} parameter>`,
    `...\n</${mark} invoke>`,
    `<${mark} invoke name="$TOOL_NAME2">\n...\n</${mark} invoke>`,
    `${Dsml.calls[1]}\n`,
    "String parameters should be specified as is and set `string=\"true\"`. For all other types (numbers, booleans,"
    + " arrays, objects), pass the value in JSON format and set `string=\"false\"`.\n",
    "If thinking_mode is enabled (triggered by <think>), you MUST output your complete reasoning inside"
    + " <think>...</think> BEFORE any tool calls or final response.\n",
    "Otherwise, output directly after </think> with tool calls or final response.\n",
    "### Available Tool Schemas\n",
    ...schemas,
    "\nYou MUST strictly follow the above defined tool name and parameter schemas to invoke tool calls.\n"
  ].join("\n")
}

const schemasOf = (document: PythonJson.Value): ReadonlyArray<string> | undefined => {
  if (!Array.isArray(document)) return undefined
  const functions = Array.from(
    document,
    (tool: PythonJson.Value) => PythonJson.isObject(tool) ? tool.get("function") : undefined
  )
  return functions.every((each) => each !== undefined)
    ? functions.map((each) => PythonJson.stringify(each, { ascii: false }))
    : undefined
}

const toolsText = Effect.fnUntraced(function*(renderer: string, message: Message.Message) {
  const text = yield* ChatTemplate.onlyText(renderer, message)
  const schemas = PythonJson.parse(text).pipe(Result.map(schemasOf), Result.getOrElse(() => undefined))
  if (schemas !== undefined) return declaration(schemas)
  const detail = "a declaration of tools is not a JSON list of functions; make it with toolsPrefix"
  return yield* new RendererError({ renderer, detail })
})

/**
 * Adds the declaration of tools to the system message before it; a declaration that comes first becomes the system message. Fails for a
 * declaration at any other place.
 */
const declare = Effect.fnUntraced(function*(renderer: string, messages: Messages) {
  const at = messages.findIndex((message) => message.role === role)
  const message = messages[at]
  if (message === undefined) return messages
  const tools = yield* toolsText(renderer, message)
  if (at === 0) return [{ ...message, role: "system", name: role, content: `\n\n${tools}` }, ...messages.slice(1)]
  const [first] = messages
  if (at > 1 || first?.role !== "system") {
    const detail = "tools are declared in the first message, or after a system message that is the first"
    return yield* new RendererError({ renderer, detail })
  }
  const text = yield* ChatTemplate.onlyText(renderer, first)
  return [{ ...first, content: `${text}\n\n${tools}` }, { ...message, content: "" }, ...messages.slice(2)]
})

const isUserTurn = (message: Message.Message | undefined) => message?.role === "user" || message?.role === "tool"

/** Sorts tool results in the order of their calls; a result with an unknown id is sorted like a result of the first call. */
const sortAnswers = (turn: Messages, order: ReadonlyMap<string, number>): Messages => {
  const position = ({ toolCallId = "" }: Message.Message) => order.get(toolCallId) ?? 0
  const answers = turn
    .filter((message) => message.role === "tool")
    .toSorted((left, right) => position(left) - position(right))
  let next = 0
  return turn.map((message) => message.role === "tool" ? answers[next++] ?? message : message)
}

const blockText = (renderer: string, message: Message.Message) =>
  Effect.map(
    ChatTemplate.onlyText(renderer, message),
    (text) => message.role === "tool" ? `<tool_result>${text}</tool_result>` : text
  )

/** Joins the texts of consecutive user and tool messages in the first of them. The other messages stay, but empty, so indices do not change. */
const joinTurns = Effect.fnUntraced(function*(renderer: string, messages: Messages) {
  const joined = [...messages]
  let order: ReadonlyMap<string, number> = new Map()
  for (let at = 0; at < messages.length; at++) {
    const calls = messages[at]?.toolCalls ?? []
    if (calls.length > 0) order = new Map(calls.flatMap(({ id }, index) => id === undefined ? [] : [[id, index]]))
    if (!isUserTurn(messages[at])) continue
    const length = messages.slice(at).findIndex((message) => !isUserTurn(message))
    const end = length === -1 ? messages.length : at + length
    const turn = sortAnswers(messages.slice(at, end), order)
    const blocks = yield* Effect.forEach(turn, (message) => blockText(renderer, message))
    for (const [index, message] of messages.slice(at, end).entries()) {
      joined[at + index] = { ...message, content: index === 0 ? blocks.join("\n\n") : "" }
    }
    at = end - 1
  }
  return joined
})

/** The conversation in the template's turns: the same number of messages, some of them empty. */
export const prepare = (renderer: string, messages: Messages): Effect.Effect<Messages, RendererError> =>
  Effect.flatMap(declare(renderer, messages), (declared) => joinTurns(renderer, declared))
