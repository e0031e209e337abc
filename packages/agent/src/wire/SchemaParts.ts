/** The keywords through which a JSON Schema refers to other schemas. */
import * as JsonPointer from "effect/JsonPointer"
import type * as JsonSchema from "effect/JsonSchema"
import * as Predicate from "effect/Predicate"

/** Subschemas that apply to the same value. */
export const parts = ({ allOf, anyOf, oneOf, not }: JsonSchema.JsonSchema): ReadonlyArray<unknown> =>
  [allOf, anyOf, oneOf].flatMap((one) => Array.isArray(one) ? one : []).concat(not ?? [])

/**
 * The name of the definition, or part of one, that a schema refers to; undefined if the schema has no such reference.
 */
export const nameOf = ({ $ref }: JsonSchema.JsonSchema) => {
  const [keyword, ...tokens] = typeof $ref === "string" ? JsonPointer.parseUriFragment($ref) ?? [] : []
  return keyword === "$defs" || keyword === "definitions" ? tokens.map(JsonPointer.escapeToken).join("/") : undefined
}

/** The value of an own key; undefined if the value has no such own key. */
export const child = (value: unknown, key: string): unknown =>
  Predicate.isObjectOrArray(value) && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined

export type Definitions = Readonly<Record<string, unknown>>

export const definitions = ({ $defs, definitions }: JsonSchema.JsonSchema): Definitions => ({
  ...(Predicate.isObject(definitions) ? definitions : {}),
  ...(Predicate.isObject($defs) ? $defs : {})
})

/** The schema for a name returned by `nameOf`. */
export const definition = (known: Definitions, name: string): unknown =>
  name.split("/").map(JsonPointer.unescapeToken).reduce<unknown>(child, known)
