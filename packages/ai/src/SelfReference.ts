/** Circular definitions of a JSON Schema. */
import type * as JsonSchema from "effect/JsonSchema"
import * as Predicate from "effect/Predicate"

/** Keywords whose subschemas apply to the same value. */
const parts = ({ allOf, anyOf, oneOf, not }: JsonSchema.JsonSchema): ReadonlyArray<unknown> =>
  [allOf, anyOf, oneOf].flatMap((one) => Array.isArray(one) ? one : []).concat(not ?? [])

const reference = /^#\/(?:\$defs|definitions)\/(.+)$/

const nameOf = (schema: JsonSchema.JsonSchema) =>
  typeof schema["$ref"] === "string" ? reference.exec(schema["$ref"])?.[1] : undefined

/**
 * The first definition that refers to itself for the same value, so that a check against it never ends. A tree is not circular: its nodes
 * refer to the definition for other, smaller values.
 */
export const find = ({ $defs, definitions }: JsonSchema.JsonSchema): string | undefined => {
  const known = { ...(Predicate.isObject(definitions) ? definitions : {}), ...(Predicate.isObject($defs) ? $defs : {}) }
  const sound = new Set<string>()
  const isEndless = (schema: unknown, above: ReadonlyArray<string>): boolean => {
    if (!Predicate.isObject(schema)) return false
    const name = nameOf(schema)
    return (name !== undefined && leadsBack(name, above)) || parts(schema).some((part) => isEndless(part, above))
  }
  const leadsBack = (name: string, above: ReadonlyArray<string>): boolean => {
    if (above.includes(name)) return true
    if (sound.has(name) || !Object.hasOwn(known, name)) return false
    if (isEndless(known[name], [...above, name])) return true
    sound.add(name)
    return false
  }
  return Object.keys(known).find((name) => leadsBack(name, []))
}
