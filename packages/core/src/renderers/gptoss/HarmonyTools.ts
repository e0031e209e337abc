/** Tool declarations as TypeScript, in OpenAI's Harmony format. */
import type * as Schema from "effect/Schema"
import type * as Message from "../../chat/Message.ts"
import type { ToolSpec } from "../../chat/ToolSpec.ts"
import * as JsonSchema from "../text/JsonSchema.ts"

const objectType = (schema: Schema.JsonObject): string => {
  const required = JsonSchema.list(schema["required"])
  const fields = Object.entries(JsonSchema.object(schema["properties"])).map(([name, field]) =>
    `${name}${required.includes(name) ? "" : "?"}: ${typeOf(JsonSchema.object(field))}`
  )
  return `{ ${fields.join(", ")} }`
}

const plainType = (schema: Schema.JsonObject): string => {
  switch (schema["type"]) {
    case "string":
    case "boolean":
      return schema["type"]
    case "number":
    case "integer":
      return "number"
    case "array":
      return `${typeOf(JsonSchema.object(schema["items"]))}[]`
    case "object":
      return objectType(schema)
    default:
      return "any"
  }
}

const typeOf = (schema: Schema.JsonObject): string => {
  const { anyOf, enum: values, nullable, oneOf, type } = schema
  const alternatives = oneOf ?? anyOf
  if (alternatives !== undefined) {
    return JsonSchema.list(alternatives).map((each) => typeOf(JsonSchema.object(each))).join(" | ")
  }
  if (Array.isArray(type)) return JsonSchema.list(type).map((each) => typeOf({ type: each })).join(" | ")
  if (type === "string" && values !== undefined) return JsonSchema.list(values).map(JsonSchema.stringify).join(" | ")
  return plainType(schema) + (nullable === true ? " | null" : "")
}

const comments = (schema: Schema.JsonObject): ReadonlyArray<string> => {
  const title = JsonSchema.text(schema["title"])
  const description = JsonSchema.text(schema["description"])
  const examples = JsonSchema.list(schema["examples"])
  return [
    ...(title === "" ? [] : [title, ""]),
    ...(description === "" ? [] : [description]),
    ...(examples.length === 0 ? [] : ["Examples:", ...examples.map((example) => `- ${JsonSchema.stringify(example)}`)])
  ]
}

const fieldLines = (name: string, schema: Schema.JsonObject, isRequired: boolean): ReadonlyArray<string> => {
  const value = schema["default"]
  const byDefault = value === undefined ? "" : ` // default: ${JsonSchema.stringify(value)}`
  return [
    ...comments(schema).map((comment) => `// ${comment}`),
    `${name}${isRequired ? "" : "?"}: ${typeOf(schema)},${byDefault}`
  ]
}

const parametersType = (schema: Schema.JsonObject): string => {
  const properties = Object.entries(JsonSchema.object(schema["properties"]))
  if (schema["type"] !== "object" || properties.length === 0) return "()"
  const description = JsonSchema.text(schema["description"])
  const required = JsonSchema.list(schema["required"])
  return [
    description === "" ? "(_:" : `(_: // ${description}`,
    "{",
    ...properties.flatMap(([name, field]) => fieldLines(name, JsonSchema.object(field), required.includes(name))),
    "})"
  ].join("\n")
}

const toolText = ({ description, name, parameters }: ToolSpec): string => {
  const type = `type ${name} = ${parametersType(parameters)} => any;`
  return description === "" ? type : `// ${description}\n${type}`
}

const declaration = (tools: ReadonlyArray<ToolSpec>) =>
  `# Tools\n\n## functions\n\nnamespace functions {\n\n${tools.map(toolText).join("\n\n")}\n\n} // namespace functions`

/** A system message that names the channel for calls, and a developer message with the instructions and the tools. */
export const prefix = (
  systemRole: string,
  tools: ReadonlyArray<ToolSpec>,
  systemPrompt: string
): ReadonlyArray<Message.Message> => {
  const routing = "Calls to these tools must go to the commentary channel: 'functions'."
  const content = [
    ...(systemPrompt === "" ? [] : [`# Instructions\n\n${systemPrompt}`]),
    ...(tools.length === 0 ? [] : [declaration(tools)])
  ].join("\n\n")
  return [
    ...(tools.length === 0 ? [] : [{ role: systemRole, content: routing }]),
    ...(content === "" ? [] : [{ role: "developer", content }])
  ]
}
