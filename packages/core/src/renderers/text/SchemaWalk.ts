/** Walks the schemas inside a JSON schema, in the order of Kimi's tool declarations. */
import type * as Schema from "effect/Schema"
import * as JsonSchema from "./JsonSchema.ts"

export type Kind = "reference" | "alternatives" | "enum" | "union" | "object" | "array" | "scalar"

/** The kind of a schema, which depends on the first of `$ref`, `anyOf`, `enum` and `type` that it has. */
export const kindOf = (schema: Schema.JsonObject): Kind => {
  if (schema["$ref"] !== undefined) return "reference"
  if (schema["anyOf"] !== undefined) return "alternatives"
  if (schema["enum"] !== undefined) return "enum"
  if (Array.isArray(schema["type"])) return "union"
  return schema["type"] === "object" ? "object" : schema["type"] === "array" ? "array" : "scalar"
}

/** Whether a value carries information: it is not null, false or an empty object. */
export const isFilled = (json: Schema.Json): boolean =>
  JsonSchema.isObject(json) ? Object.keys(json).length > 0 : json !== null && json !== false

const isSchema = (json: Schema.Json | undefined): json is Schema.Json => JsonSchema.isObject(json)

const objectChildren = (schema: Schema.JsonObject): ReadonlyArray<Schema.Json> => [
  ...[schema["additionalProperties"]].filter(isSchema),
  ...Object.values(JsonSchema.object(schema["properties"]))
]

const children = (schema: Schema.JsonObject, isRoot: boolean): ReadonlyArray<Schema.Json> => {
  if (isRoot) return objectChildren(schema)
  switch (kindOf(schema)) {
    case "alternatives":
      return JsonSchema.list(schema["anyOf"])
    case "array":
      return [schema["items"]].filter(isSchema).filter(isFilled)
    case "object":
      return objectChildren(schema)
    default:
      return []
  }
}

/** A schema and all schemas nested in it. `isRoot` tells `children` that it is the parameters' own schema. */
const all = (schema: Schema.Json, isRoot = false): ReadonlyArray<Schema.JsonObject> =>
  JsonSchema.isObject(schema) ? [schema, ...children(schema, isRoot).flatMap((child) => all(child))] : []

const definitionsOf = (parameters: Schema.JsonObject) =>
  new Map(
    all(parameters, true)
      .filter((schema, index) => index === 0 || kindOf(schema) === "object")
      .flatMap((schema) => Object.entries(JsonSchema.object(schema["$defs"])))
  )

/** The definitions in a tool's parameters, and whether the schema refers to itself. */
export const references = (parameters: Schema.JsonObject) => ({
  definitions: definitionsOf(parameters),
  refersToItself: all(parameters, true).some((schema) => schema["$ref"] === "#")
})

const typeNames = ["string", "number", "integer", "boolean", "null", "object", "array"]

const holds: Record<string, (value: Schema.Json) => boolean> = {
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number" || typeof value === "boolean",
  integer: (value) => Number.isInteger(value) || typeof value === "boolean",
  boolean: (value) => typeof value === "boolean"
}

/** The single type of an enum, apart from null; `undefined` if there are several. */
const enumType = (type: Schema.Json): string | undefined => {
  if (!Array.isArray(type)) return JsonSchema.text(type)
  const names = JsonSchema.list(type)
  if (names.length === 1) return JsonSchema.text(names[0])
  return names.length === 2 && names.includes("null")
    ? JsonSchema.text(names.find((name) => name !== "null"))
    : undefined
}

const enumProblem = (schema: Schema.JsonObject): string | undefined => {
  if (schema["type"] === undefined) return undefined
  const type = enumType(schema["type"])
  if (type === undefined) {
    return `an enum has the types ${JsonSchema.stringify(schema["type"])}, expected one besides null`
  }
  const check = holds[type]
  const wrong = JsonSchema.list(schema["enum"]).find((value) => value !== null && check !== undefined && !check(value))
  return wrong === undefined ? undefined : `an enum of ${type} has the value ${JsonSchema.stringify(wrong)}`
}

const ownProblem = (schema: Schema.JsonObject, definitions: ReadonlyMap<string, Schema.Json>): string | undefined => {
  switch (kindOf(schema)) {
    case "reference": {
      const reference = JsonSchema.text(schema["$ref"])
      const isKnown = reference === "#"
        || (reference.startsWith("#/$defs/") && definitions.has(reference.split("/").at(-1) ?? ""))
      return isKnown ? undefined : `a reference to ${reference}, which is not among its definitions`
    }
    case "enum":
      return enumProblem(schema)
    case "union": {
      const unknown = JsonSchema.list(schema["type"]).find((name) => !typeNames.includes(JsonSchema.text(name)))
      return unknown === undefined
        ? undefined
        : `a type ${JsonSchema.stringify(unknown)}, expected one of ${typeNames.join(", ")}`
    }
    case "scalar":
      return schema["type"] === undefined && Object.keys(schema).length > 0
        ? `a schema with ${
          Object.keys(schema).join(", ")
        } and without type, anyOf or enum, which cannot be declared to the model`
        : undefined
    default:
      return undefined
  }
}

/** Why parameters cannot be written as TypeScript; `undefined` if they can. */
export const problem = (parameters: Schema.JsonObject): string | undefined => {
  const definitions = definitionsOf(parameters)
  const [, ...within] = all(parameters, true)
  const schemas = [...within, ...Array.from(definitions.values()).flatMap((definition) => all(definition))]
  for (const schema of schemas) {
    const found = ownProblem(schema, definitions)
    if (found !== undefined) return found
  }
  return undefined
}
