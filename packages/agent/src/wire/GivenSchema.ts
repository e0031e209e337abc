/**
 * Checks values against JSON Schemas from clients, for tools and answers, within limits.
 *
 * @example
 * const problem = GivenSchema.problem({ type: "object", required: ["answer"] })({ answer: 4 })
 */
import * as Exit from "effect/Exit"
import * as JsonSchema from "effect/JsonSchema"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaRepresentation from "effect/SchemaRepresentation"
import * as SchemaLimits from "./SchemaLimits.ts"

/**
 * Converts a JSON Schema to an Effect schema, and throws if the JSON Schema exceeds the limits. Its patterns are
 * dropped, because a regular expression from a client can take unbounded time.
 */
const imported = (given: JsonSchema.JsonSchema) => {
  const problem = SchemaLimits.problem(given)
  if (problem !== undefined) throw new Error(problem)
  const schema = SchemaRepresentation.fromJsonSchemaDocument(JsonSchema.fromSchemaDraft2020_12(given), {
    patterns: "ignore"
  })
  return Schema.Unknown.check(Schema.makeFilter((value) => SchemaLimits.valueProblem(given, value))).pipe(
    Schema.decodeTo(Schema.toType(schema))
  )
}

/** The Effect schema for a JSON Schema. Fails with the reason if it is too large or not a JSON Schema. */
export const make = (given: JsonSchema.JsonSchema) =>
  Result.try({ try: () => imported(given), catch: (error) => error instanceof Error ? error.message : String(error) })

/**
 * Returns a function that says why a value does not match the schema, or returns undefined if the value matches. If the schema cannot be
 * read, the function says so for every value.
 */
export const problem = (given: JsonSchema.JsonSchema) => {
  const schema = make(given)
  if (Result.isFailure(schema)) return () => `the schema cannot be read: ${schema.failure}`
  const decode = Schema.decodeUnknownExit(schema.success, { onExcessProperty: "error" })
  return (value: unknown): string | undefined => {
    const decoded = decode(value)
    return Exit.isSuccess(decoded) ? undefined : String(Exit.getCause(decoded))
  }
}
