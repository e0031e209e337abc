/**
 * Presents the tools of the Responses API to a model as functions, and converts the model's calls back for the client.
 *
 * A custom tool takes plain text; the model sees it as a function with one argument, `input`. The name of a tool in a namespace combines
 * both names.
 */
import type { Message } from "@effect-rl/core"
import type { ToolSpec } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Notes } from "../Notes.ts"
import * as Structure from "../Structure.ts"
import type * as Wire from "./OpenAiResponse.ts"

/** A tool that the client runs. */
export interface ClientTool {
  readonly own: Wire.OwnTool
  readonly namespace: string | undefined
  readonly spec: ToolSpec.ToolSpec
}

/** The name by which the model calls a tool. */
export const nameOf = (name: string, namespace: string | null | undefined) => {
  if (namespace === null || namespace === undefined || namespace === "") return name
  return namespace.endsWith("__") ? `${namespace}${name}` : `${namespace}__${name}`
}

const Input = Schema.Struct({ input: Schema.String })

/** The arguments of the function that represents a custom tool. */
export const argumentsOf = (input: string) => JSON.stringify({ input })

const decodeInput = Schema.decodeUnknownOption(Schema.fromJsonString(Input))

/** The input text of a custom tool call; arguments in another form are used as the text. */
const inputOf = (text: string) => Option.match(decodeInput(text), { onNone: () => text, onSome: ({ input }) => input })

const grammarOf = ({ format }: Wire.CustomTool) =>
  format?.type === "grammar" ? { description: `In this grammar (${format.syntax}):\n${format.definition}` } : {}

const parametersOf = (tool: Wire.OwnTool): ToolSpec.ToolSpec["parameters"] =>
  tool.type === "function"
    ? tool.parameters ?? {}
    : {
      type: "object",
      properties: { input: { type: "string", ...grammarOf(tool) } },
      required: ["input"],
      additionalProperties: false
    }

const clientTool = (own: Wire.OwnTool, namespace?: string): ClientTool => ({
  own,
  namespace,
  spec: { name: nameOf(own.name, namespace), description: own.description ?? "", parameters: parametersOf(own) }
})

/** All tools, with those of namespaces expanded in place. */
export const all = ({ tools }: Pick<Wire.Create, "tools">): ReadonlyArray<ClientTool> =>
  (tools ?? []).flatMap((tool) =>
    tool.type === "namespace" ? tool.tools.map((own) => clientTool(own, tool.name)) : [clientTool(tool)]
  )

/** A call in the client's terms. */
export interface Called {
  readonly kind: "function_call" | "custom_tool_call"
  /** The call's arguments or input. */
  readonly text: string
  readonly call: { readonly call_id: string; readonly name: string; readonly namespace?: string }
}

/** Returns a converter for calls to these tools; an unknown name is treated as a function. */
export const reading = (tools: ReadonlyArray<ClientTool>) =>
(
  { function: { arguments: text, name }, id = "" }: Message.ToolCall
): Called => {
  const tool = tools.find(({ spec }) => spec.name === name)
  const isCustom = tool?.own.type === "custom"
  return {
    kind: isCustom ? "custom_tool_call" : "function_call",
    text: isCustom ? inputOf(text) : text,
    call: {
      call_id: id,
      name: tool?.own.name ?? name,
      ...(tool?.namespace !== undefined && { namespace: tool.namespace })
    }
  }
}

/** The names of functions with `strict`. */
export const strict = (tools: ReadonlyArray<ClientTool>): ReadonlyArray<string> =>
  tools.filter(({ own }) => own.type === "function" && own.strict === true).map(({ spec }) => spec.name)

/** Fails, or warns, if a custom tool requests a grammar for its input. */
export const checkInputs = (notes: Notes, tools: ReadonlyArray<ClientTool>) =>
  tools.some(({ own }) => own.type === "custom" && own.format?.type === "grammar")
    ? Structure.inputGrammar(notes, "tools[].format")
    : Effect.void
