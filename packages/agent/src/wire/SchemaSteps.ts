/** Predicts the cost of checking a value against a JSON Schema from a client. */
import type * as JsonSchema from "effect/JsonSchema"
import * as Predicate from "effect/Predicate"
import * as SchemaParts from "./SchemaParts.ts"

/** Maximum number of steps in one check, about one second. */
export const most = 500_000

const kindOf = (value: unknown) => value === null ? "null" : Array.isArray(value) ? "array" : typeof value

const hasType = (types: unknown, value: unknown) => {
  const kind = kindOf(value)
  const all = Array.isArray(types) ? types : [types]
  return types === undefined || all.includes(kind) || (kind === "number" && all.includes("integer"))
}

const isConstant = (schema: unknown): schema is { readonly const: unknown } =>
  Predicate.isObject(schema) && Object.hasOwn(schema, "const")

/** Whether a type or a constant, of the schema or one of its properties, shows immediately that the schema does not match the value. */
const isOther = ({ properties, type, ...schema }: JsonSchema.JsonSchema, value: unknown) => {
  if (!hasType(type, value) || (isConstant(schema) && schema.const !== value)) return true
  return Predicate.isObject(value) && Predicate.isObject(properties)
    && Object.entries(properties).some(([key, property]) =>
      isConstant(property) && property.const !== SchemaParts.child(value, key)
    )
}

/** The subschemas for the values within a value. */
const within = (schema: JsonSchema.JsonSchema, value: unknown): ReadonlyArray<readonly [unknown, unknown]> => {
  const { additionalProperties, items, prefixItems, properties } = schema
  if (Array.isArray(value)) {
    return value.map((one, index) => [SchemaParts.child(prefixItems, String(index)) ?? items, one] as const)
  }
  return Predicate.isObject(value)
    ? Object.entries(value).map(([key, one]) =>
      [SchemaParts.child(properties, key) ?? additionalProperties, one] as const
    )
    : []
}

/**
 * How many subschema checks a validation of `value` would perform, assuming that every union member is tried unless a type or constant
 * rules it out. Results above `most` are not exact. Counting itself takes one step per pair of subschema and value, not one per path
 * between them: a union of two schemas that both refer to the union has two paths to each level of the value.
 */
export const count = (root: JsonSchema.JsonSchema, value: unknown): number => {
  const known = SchemaParts.definitions(root)
  const counted = new Map<unknown, Map<unknown, number>>()

  const sum = (pairs: ReadonlyArray<readonly [unknown, unknown]>) => {
    let steps = 0
    for (const [schema, value] of pairs) {
      steps += stepsOf(schema, value)
      if (steps > most) break
    }
    return steps
  }

  const fresh = (schema: JsonSchema.JsonSchema, value: unknown): number => {
    const name = SchemaParts.nameOf(schema)
    const same = name === undefined ? [] : [SchemaParts.definition(known, name)]
    if (isOther(schema, value)) return 1
    return 1 + sum([
      ...[...same, ...SchemaParts.parts(schema)].map((part) => [part, value] as const),
      ...within(schema, value)
    ])
  }

  const stepsOf = (schema: unknown, value: unknown): number => {
    if (!Predicate.isObject(schema)) return 1
    const before = counted.get(schema)?.get(value)
    if (before !== undefined) return before
    const steps = fresh(schema, value)
    counted.set(schema, (counted.get(schema) ?? new Map<unknown, number>()).set(value, steps))
    return steps
  }

  return stepsOf(root, value)
}
