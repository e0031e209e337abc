/**
 * JSON Schemas from outside, of tools and of answers, against which values are checked within limits.
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

/** Patterns are not run: a regular expression from outside can take unbounded time. */
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

/** The schema whose values are those of the given one; fails with the reason where it is too large or is no JSON Schema. */
export const make = (given: JsonSchema.JsonSchema) =>
  Result.try({ try: () => imported(given), catch: (error) => error instanceof Error ? error.message : String(error) })

/** Why the value does not have the given schema; undefined where it does, or where the schema cannot be read. */
export const problem = (given: JsonSchema.JsonSchema) => {
  const schema = make(given)
  if (Result.isFailure(schema)) return () => `the schema cannot be read: ${schema.failure}`
  const decode = Schema.decodeUnknownExit(schema.success, { onExcessProperty: "error" })
  return (value: unknown): string | undefined => {
    const decoded = decode(value)
    return Exit.isSuccess(decoded) ? undefined : String(Exit.getCause(decoded))
  }
}
