/** Tool declarations for Kimi: JSON for K2, TypeScript since K2.5. */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { RendererError } from "../../chat/Renderer.ts"
import type { ToolSpec } from "../../chat/ToolSpec.ts"
import * as JsonSchema from "../text/JsonSchema.ts"
import * as SchemaWalk from "../text/SchemaWalk.ts"

const byCodePoint = (left: string, right: string): number => {
  const [a, b] = [Array.from(left), Array.from(right)]
  const at = a.findIndex((character, index) => character !== b[index])
  if (at === -1) return a.length - b.length
  return (a[at]?.codePointAt(0) ?? 0) - (b[at]?.codePointAt(0) ?? -1)
}

const sortedJson = (json: Schema.Json): string => {
  if (typeof json !== "object" || json === null) return JsonSchema.stringify(json)
  if (Array.isArray(json)) return `[${JsonSchema.list(json).map(sortedJson).join(",")}]`
  const entries = Object.entries(JsonSchema.object(json)).toSorted(([left], [right]) => byCodePoint(left, right))
  return `{${entries.map(([key, value]) => `${JsonSchema.stringify(key)}:${sortedJson(value)}`).join(",")}}`
}

/** The tools as compact JSON with sorted keys. */
export const json = (tools: ReadonlyArray<ToolSpec>): string =>
  sortedJson(tools.map(({ description, name, parameters }) => ({
    type: "function",
    function: { name, description, parameters }
  })))

const step = "  "

const commentLines = (text: string, indent: string) =>
  text.split("\n").map((line) => line === "" ? "" : `${indent}// ${line}`).join("\n")

const limits: Record<string, ReadonlyArray<string>> = {
  string: ["maxLength", "minLength", "pattern"],
  number: ["maximum", "minimum"],
  integer: ["maximum", "minimum"],
  array: ["maxItems", "minItems"]
}

/** The description and the constraints of a schema as comment lines. */
const docstring = (schema: Schema.Json, indent: string): string => {
  if (!JsonSchema.isObject(schema)) return ""
  const description = JsonSchema.text(schema["description"])
  const kind = SchemaWalk.kindOf(schema)
  const names = kind === "scalar" || kind === "array" ? limits[JsonSchema.text(schema["type"])] ?? [] : []
  const constraints = names.flatMap((name) => {
    const limit = schema[name]
    return limit === undefined ? [] : [`${name}: ${JsonSchema.display(limit)}`]
  })
  return (description === "" ? "" : `${commentLines(description, indent)}\n`)
    + (constraints.length === 0 ? "" : `${indent}// ${constraints.join(", ")}\n`)
}

const unions: ReadonlyMap<string, string> = new Map([
  ["string", "string"],
  ["number", "number"],
  ["integer", "number"],
  ["boolean", "boolean"],
  ["null", "null"],
  ["object", "{}"],
  ["array", "Array<any>"]
])

const arrayType = (items: Schema.Json | undefined, indent: string): string => {
  const item = items === undefined || !SchemaWalk.isFilled(items) ? true : items
  const comments = docstring(item, indent + step)
  if (comments === "") return `Array<${typeOf(item, indent)}>`
  return `Array<\n${comments}${indent}${step}${typeOf(item, indent + step)}\n${indent}>`
}

const enumType = (values: Schema.Json | undefined) =>
  JsonSchema.list(values).map((value) => typeof value === "string" ? `"${value}"` : JsonSchema.display(value)).join(
    " | "
  )

const typeOf = (schema: Schema.Json, indent: string): string => {
  if (!JsonSchema.isObject(schema)) return schema === false ? "null" : "any"
  switch (SchemaWalk.kindOf(schema)) {
    case "reference":
      return schema["$ref"] === "#" ? "parameters" : JsonSchema.text(schema["$ref"]).split("/").at(-1) ?? ""
    case "alternatives":
      return JsonSchema.list(schema["anyOf"]).map((each) => typeOf(each, indent)).join(" | ")
    case "enum":
      return enumType(schema["enum"])
    case "union":
      return JsonSchema.list(schema["type"]).map((name) => unions.get(JsonSchema.text(name)) ?? "").join(" | ")
    case "object":
      return objectType(schema, indent)
    case "array":
      return arrayType(schema["items"], indent)
    default:
      return schema["type"] === undefined
        ? "any"
        : schema["type"] === "integer"
        ? "number"
        : JsonSchema.text(schema["type"])
  }
}

/** A number or a boolean as Python prints it; anything else as JSON without ASCII escapes. */
const defaultText = (value: Schema.Json) =>
  typeof value === "number" || typeof value === "boolean"
    ? JsonSchema.display(value)
    : JsonSchema.stringifyLetters(value)

const field = (name: string, schema: Schema.Json, isRequired: boolean, indent: string): string => {
  const value = JsonSchema.object(schema)["default"]
  const byDefault = value === undefined || value === null ? "" : `${indent}// Default: ${defaultText(value)}\n`
  return `${docstring(schema, indent)}${byDefault}${indent}${name}${isRequired ? "" : "?"}: ${typeOf(schema, indent)}`
}

/** The fields of an object. If `isSorted`, required fields come first, and each group is sorted by name. */
const fields = (schema: Schema.JsonObject, indent: string, isSorted: boolean): ReadonlyArray<string> => {
  const required = JsonSchema.list(schema["required"])
  const entries = Object.entries(JsonSchema.object(schema["properties"]))
  const ordered = isSorted
    ? entries.toSorted(([left], [right]) =>
      Number(required.includes(right)) - Number(required.includes(left)) || byCodePoint(left, right)
    )
    : entries
  return ordered.map(([name, each]) => field(name, each, required.includes(name), indent))
}

const objectType = (schema: Schema.JsonObject, indent: string): string => {
  const additional = schema["additionalProperties"]
  const inner = indent + step
  const others = additional === undefined || additional === null
    ? []
    : [`${inner}[k: string]: ${additional === false ? "never" : typeOf(additional, inner)}`]
  const all = [...fields(schema, inner, true), ...others]
  return all.length === 0 ? "{}" : `{\n${all.join(",\n")}\n${indent}}`
}

const interfaceOf = (name: string, schema: Schema.Json): string => {
  const description = JsonSchema.text(JsonSchema.object(schema)["description"])
  return `${description === "" ? "" : `${commentLines(description, "")}\n`}interface ${name} ${typeOf(schema, "")}`
}

const toolText = ({ description, name, parameters }: ToolSpec): string => {
  const { definitions, refersToItself } = SchemaWalk.references(parameters)
  const own = fields(parameters, step, false).join(",\n")
  return [
    ...(refersToItself ? [`interface parameters {${own === "" ? "" : `\n${own}\n`}}`] : []),
    ...Array.from(definitions, ([definition, schema]) => interfaceOf(definition, schema)),
    ...(description === "" ? [] : [commentLines(description, "")]),
    `type ${name} = (_: ${refersToItself ? "parameters" : objectType(parameters, "")}) => any;`
  ].join("\n")
}

/** Declares the tools as TypeScript in a namespace. Fails for a schema that cannot be expressed in it. */
export const typeScript = (
  renderer: string,
  tools: ReadonlyArray<ToolSpec>
): Effect.Effect<string, RendererError> => {
  for (const { name, parameters } of tools) {
    const problem = SchemaWalk.problem(parameters)
    if (problem !== undefined) {
      return Effect.fail(new RendererError({ renderer, detail: `parameters of the tool "${name}": ${problem}` }))
    }
  }
  return Effect.succeed(`# Tools\n\n## functions\nnamespace functions {\n${tools.map(toolText).join("\n")}\n}\n`)
}
