/**
 * How a model family writes tool calls as JSON, and the grammar of such calls.
 *
 * @example
 * const form = { open: "<call>", close: "</call>", argumentsKey: "arguments", marks: ["<call>", "</call>"] } as const
 * const add = { name: "add", parameters: { type: "object", properties: { a: { type: "integer" } } } }
 * const held = CallForm.grammar(form, { tools: [{ spec: add, isStrict: true }], isForced: true, isOne: true })
 */
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as Grammar from "../model/Grammar.ts"
import type { ToolSpec } from "./ToolSpec.ts"

/** The form of a call: one JSON object with a name and arguments, in this order, between an opening and a closing text. */
export interface CallForm extends Pick<Grammar.Calls, "open" | "close" | "between" | "marks"> {
  /** The property that contains the arguments. */
  readonly argumentsKey: "arguments" | "parameters"
}

/** A tool that may be called, and whether its arguments must match its schema. */
export interface Callable {
  readonly spec: Pick<ToolSpec, "name" | "parameters">
  readonly isStrict: boolean
}

/** Constraints on the tool calls of a response. */
export interface Asked {
  readonly tools: ReadonlyArray<Callable>
  /** Whether the response must consist of calls. Otherwise it may begin with text, or have no call. */
  readonly isForced: boolean
  /** Whether the response may have at most one call. */
  readonly isOne: boolean
}

type Object = Readonly<Record<string, Schema.Json>>

const isObject = (value: unknown): value is Object => Predicate.isObject(value)

const definitionKeys = ["$defs", "definitions"] as const

const definitionName = (tool: number, key: string, name: string) => `tool_${tool}_${key.replace("$", "")}_${name}`

const rootName = (tool: number) => `tool_${tool}`

/** Rewrites a `$ref` in the schema of tool `tool` for the merged definitions of all tools. */
const moved = (reference: string, tool: number) => {
  const [, key, name] = /^#\/(\$defs|definitions)\/([\w-]+)$/.exec(reference) ?? []
  if (key !== undefined && name !== undefined) return `#/$defs/${definitionName(tool, key, name)}`
  return reference === "#" ? `#/$defs/${rootName(tool)}` : reference
}

const withReferences = (schema: Schema.Json, tool: number): Schema.Json => {
  if (Array.isArray(schema)) return schema.map((one: Schema.Json) => withReferences(one, tool))
  if (!isObject(schema)) return schema
  const { enum: listed, properties, $ref: reference, ...others } = schema
  const each = (schemas: Object) =>
    Object.fromEntries(Object.entries(schemas).map(([name, one]) => [name, withReferences(one, tool)]))
  return {
    ...each(others),
    ...(listed !== undefined && { enum: listed }),
    ...(isObject(properties) && { properties: each(properties) }),
    ...(typeof reference === "string" && { $ref: moved(reference, tool) })
  }
}

/** The schema of a tool's arguments object, and the tool's definitions. */
const argumentsOf = ({ isStrict, spec: { name, parameters } }: Callable, tool: number) => {
  const canonical = Grammar.canonical(parameters)
  if (Result.isFailure(canonical) || !isObject(canonical.success)) {
    const detail = Result.isFailure(canonical) ? canonical.failure : "expected an object"
    return isStrict ? Result.fail(`${name}: ${detail}`) : Result.succeed([Grammar.jsonObject.jsonSchema, {}] as const)
  }
  const schema = canonical.success
  if (schema["type"] !== "object") {
    const isOpen = Object.keys(schema).length === 0
    return isOpen || !isStrict
      ? Result.succeed([Grammar.jsonObject.jsonSchema, {}] as const)
      : Result.fail(`${name}: its type is ${JSON.stringify(schema["type"])}, expected "object"`)
  }
  const definitions: Record<string, Schema.Json> = {}
  const own = Object.fromEntries(
    Object.entries(schema).filter(([key]) => !definitionKeys.some((one) => one === key))
  )
  const root = withReferences(own, tool)
  if (JSON.stringify(schema).includes("\"$ref\":\"#\"")) definitions[rootName(tool)] = root
  for (const key of definitionKeys) {
    const given = schema[key]
    for (const [name, definition] of Object.entries(isObject(given) ? given : {})) {
      definitions[definitionName(tool, key, name)] = withReferences(definition, tool)
    }
  }
  return Result.succeed([root, definitions] as const)
}

/**
 * The grammar of responses that call only these tools. The arguments of a strict tool must match its schema; if the schema of another tool
 * cannot be expressed, its arguments may be any object. Fails with the reason if a strict tool cannot be expressed in a grammar.
 */
export const grammar = (
  { argumentsKey, between, ...form }: CallForm,
  { isForced, isOne, tools }: Asked
): Result.Result<Grammar.Grammar, string> => {
  const calls: Array<Schema.Json> = []
  const $defs: Record<string, Schema.Json> = {}
  for (const [index, tool] of tools.entries()) {
    const found = argumentsOf(tool, index)
    if (Result.isFailure(found)) return Result.fail(found.failure)
    const [parameters, definitions] = found.success
    Object.assign($defs, definitions)
    calls.push({
      type: "object",
      properties: { name: { const: tool.spec.name }, [argumentsKey]: parameters },
      required: ["name", argumentsKey],
      additionalProperties: false
    })
  }
  const jsonSchema = { anyOf: calls, ...(Object.keys($defs).length > 0 && { $defs }) }
  const held: Grammar.Calls = { ...form, hasText: !isForced, ...(!isOne && between !== undefined && { between }) }
  const problem = Grammar.callsProblem(jsonSchema, held)
  return problem === undefined ? Result.succeed({ jsonSchema, calls: held }) : Result.fail(problem)
}
