/** Tool declarations as XML for Nemotron 3. */
import type * as Schema from "effect/Schema"
import * as Message from "../../chat/Message.ts"
import type { ToolSpec } from "../../chat/ToolSpec.ts"
import * as JsonSchema from "../text/JsonSchema.ts"
import * as PythonText from "../text/PythonText.ts"
import * as ToolCallXml from "../ToolCallXml.ts"

const isScalar = (json: Schema.Json) => typeof json !== "object" || json === null

/** A list of types as Python prints it: `['string', 'null']`. */
const typeText = (json: Schema.Json) =>
  Array.isArray(json)
    ? `[${JsonSchema.list(json).map((name) => `'${JsonSchema.display(name)}'`).join(", ")}]`
    : JsonSchema.display(json)

/** The entries of a schema other than `known`, each as its own element. */
const others = (json: Schema.JsonObject, known: ReadonlyArray<string>): ReadonlyArray<string> =>
  Object.entries(json).flatMap(([key, value]) =>
    known.includes(key)
      ? []
      : [`<${key}>${isScalar(value) ? JsonSchema.display(value) : JsonSchema.stringify(value)}</${key}>`]
  )

const parameterLines = (name: string, schema: Schema.JsonObject): ReadonlyArray<string> => [
  "<parameter>",
  `<name>${name}</name>`,
  ...(schema["type"] === undefined ? [] : [`<type>${typeText(schema["type"])}</type>`]),
  ...(schema["description"] === undefined
    ? []
    : [`<description>${PythonText.strip(JsonSchema.display(schema["description"]))}</description>`]),
  ...(schema["enum"] === undefined ? [] : [`<enum>${JsonSchema.stringify(schema["enum"])}</enum>`]),
  ...others(schema, ["name", "type", "description", "enum"]),
  "</parameter>"
]

const toolText = ({ description, name, parameters }: ToolSpec): string => {
  const { properties, required } = parameters
  const about = PythonText.strip(description)
  return [
    "<function>",
    `<name>${name}</name>`,
    ...(about === "" ? [] : [`<description>${about}</description>`]),
    "<parameters>",
    ...Object.entries(JsonSchema.object(properties)).flatMap(([parameter, schema]) =>
      parameterLines(parameter, JsonSchema.object(schema))
    ),
    ...others(parameters, ["type", "properties", "required"]),
    ...(required === undefined ? [] : [`<required>${JsonSchema.stringify(required)}</required>`]),
    "</parameters>",
    "</function>"
  ].join("\n")
}

/** One system message with the system prompt, followed by the tools. */
export const prefix = (tools: ReadonlyArray<ToolSpec>, systemPrompt: string): ReadonlyArray<Message.Message> => {
  if (tools.length === 0) return [Message.system(systemPrompt)]
  const declaration = ToolCallXml.declaration(tools.map(toolText))
  return [Message.system(systemPrompt === "" ? declaration : `${systemPrompt}\n\n${declaration}`)]
}
