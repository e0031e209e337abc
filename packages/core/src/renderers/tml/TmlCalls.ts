/** Tool calls and tool declarations in TML v0, as the JSON that the model was trained on. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Message from "../../chat/Message.ts"
import { RendererError } from "../../chat/Renderer.ts"
import type { ToolSpec } from "../../chat/ToolSpec.ts"
import * as ChatMl from "../ChatMl.ts"
import * as PythonJson from "../text/PythonJson.ts"
import * as RustJson from "../text/RustJson.ts"

/** The text of a call, and the function name, which its header repeats. */
export interface WrittenCall {
  readonly name: string
  readonly json: string
}

/** Writes a call with its arguments sorted by name; nested values keep their order. */
export const write = Effect.fnUntraced(function*(
  renderer: string,
  call: Message.ToolCall
): Effect.fn.Return<WrittenCall, RendererError> {
  const { name } = call.function
  if (name === "") return yield* new RendererError({ renderer, detail: "a tool call has no name" })
  const values = RustJson.normal(yield* ChatMl.toolArguments(renderer, call))
  if (values === undefined || !PythonJson.isObject(values)) {
    const detail =
      `arguments of the tool call "${name}" are ${call.function.arguments}, expected an object of finite numbers`
    return yield* new RendererError({ renderer, detail })
  }
  const args = RustJson.stringify(RustJson.sorted(values))
  return { name, json: `{"name":${JSON.stringify(name)},"args":${args}}` }
})

const text = (value: PythonJson.Value | undefined, otherwise: string) => typeof value === "string" ? value : otherwise

/** Converts a tool from OpenAI's format to the model's; `undefined` if it is not a tool. */
const declared = (tool: PythonJson.Value): PythonJson.Value | undefined => {
  const spec = PythonJson.isObject(tool) ? tool.get("function") : undefined
  if (!PythonJson.isObject(tool) || spec === undefined || !PythonJson.isObject(spec)) return undefined
  const [name, parameters = new Map<string, PythonJson.Value>()] = [spec.get("name"), spec.get("parameters")]
  if (typeof name !== "string" || !PythonJson.isObject(parameters)) return undefined
  return new Map<string, PythonJson.Value>([
    ["description", text(spec.get("description"), "")],
    ["name", name],
    ["parameters", RustJson.sortedThroughout(parameters)],
    ["type", text(tool.get("type"), "function")]
  ])
}

/** Converts a declaration, a JSON list in OpenAI's format. */
export const declaration = (renderer: string, content: string): Effect.Effect<string, RendererError> => {
  const document = PythonJson.parse(content)
  const value = Result.isSuccess(document) ? RustJson.normal(document.success) : undefined
  const tools = value instanceof Array ? value.map(declared) : [undefined]
  const known = tools.filter((tool) => tool !== undefined)
  if (known.length === tools.length) return Effect.succeed(RustJson.stringify(known))
  const detail =
    `a message of role "tool_declare" holds ${JSON.stringify(content.slice(0, 60))}, expected a JSON list of` +
    " tools as toolsPrefix gives it"
  return Effect.fail(new RendererError({ renderer, detail }))
}

const escaped = (json: string) =>
  json.replace(/[\u007f-\uffff]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)

/** The system prompt, followed by the tool declaration as a separate message. */
export const prefix = (tools: ReadonlyArray<ToolSpec>, systemPrompt: string): ReadonlyArray<Message.Message> => [
  ...(systemPrompt === "" ? [] : [Message.system(systemPrompt)]),
  ...(tools.length === 0 ? [] : [{
    role: "tool_declare",
    content: escaped(JSON.stringify(tools.map((tool) => ({ type: "function", function: tool }))))
  }])
]
