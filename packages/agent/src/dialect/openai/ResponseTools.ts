/**
 * Tools of OpenAI's Responses API as a model sees them, which are functions all, and its calls of them as their clients read them.
 *
 * A custom tool takes a text: for the model it is a function of one argument, `input`. A tool of a namespace has both names in its own.
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

/** The name by which a model calls a tool. */
export const nameOf = (name: string, namespace: string | null | undefined) => {
  if (namespace === null || namespace === undefined || namespace === "") return name
  return namespace.endsWith("__") ? `${namespace}${name}` : `${namespace}__${name}`
}

const Input = Schema.Struct({ input: Schema.String })

/** The arguments of the function that a custom tool is for the model. */
export const argumentsOf = (input: string) => JSON.stringify({ input })

const decodeInput = Schema.decodeUnknownOption(Schema.fromJsonString(Input))

/** The text of a call of a custom tool; other arguments are the text themselves. */
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

/** All tools, those of namespaces in their places. */
export const all = ({ tools }: Wire.Create): ReadonlyArray<ClientTool> =>
  (tools ?? []).flatMap((tool) =>
    tool.type === "namespace" ? tool.tools.map((own) => clientTool(own, tool.name)) : [clientTool(tool)]
  )

/** A call as its client reads it. */
export interface Called {
  readonly kind: "function_call" | "custom_tool_call"
  /** Its arguments or its input. */
  readonly text: string
  readonly call: { readonly call_id: string; readonly name: string; readonly namespace?: string }
}

/** Reads the calls of these tools; any other name is called as a function. */
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

/** The names of strict functions. */
export const strict = (tools: ReadonlyArray<ClientTool>): ReadonlyArray<string> =>
  tools.filter(({ own }) => own.type === "function" && own.strict === true).map(({ spec }) => spec.name)

/** Fails, or warns, where the input of a custom tool is asked to have a grammar. */
export const checkInputs = (notes: Notes, tools: ReadonlyArray<ClientTool>) =>
  tools.some(({ own }) => own.type === "custom" && own.format?.type === "grammar")
    ? Structure.inputGrammar(notes, "tools[].format")
    : Effect.void
