/** Limits for a JSON Schema from a client, so importing it and checking values against it finish quickly. */
import * as JsonPointer from "effect/JsonPointer"
import type * as JsonSchema from "effect/JsonSchema"
import * as Predicate from "effect/Predicate"
import * as SchemaParts from "./SchemaParts.ts"
import * as SchemaSteps from "./SchemaSteps.ts"

const mostCharacters = 262_144
const mostLevels = 100

/** Maximum number of subschemas that apply to one value. */
const mostAlternatives = 10_000

const entries = (value: unknown): ReadonlyArray<unknown> => Predicate.isObjectOrArray(value) ? Object.values(value) : []

/** Whether the schema is nested more than `mostLevels` deep. */
const isDeep = (schema: unknown) => {
  let level = [schema]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > mostLevels) return true
    level = level.flatMap(entries)
  }
  return false
}

/** The number of subschemas that apply to one value, and the longest chain of definitions among them. */
interface Reach {
  readonly width: number
  readonly steps: number
}

const one: Reach = { width: 1, steps: 0 }

const tooFar = (name: string) => `the definition "${name}" is in a chain of more than ${mostLevels} references`

const both = (left: Reach, right: Reach): Reach => ({
  width: left.width + right.width,
  steps: Math.max(left.steps, right.steps)
})

/**
 * The first definition that cannot be checked, because it refers to itself for the same value, so a check would never end, or refers to too
 * many others. A tree is allowed: its nodes use the definition for smaller values.
 */
const definitionProblem = (schema: JsonSchema.JsonSchema): string | undefined => {
  const known = SchemaParts.definitions(schema)
  const found = new Map<string, Reach>()
  let problem: string | undefined
  const refuse = (detail: string) => {
    problem ??= detail
    return one
  }
  const reachOf = (schema: unknown, above: ReadonlyArray<string>): Reach => {
    if (!Predicate.isObject(schema)) return one
    const name = SchemaParts.nameOf(schema)
    const own = name === undefined ? one : reachOfDefinition(name, above)
    return SchemaParts.parts(schema).reduce<Reach>((reach, part) => both(reach, reachOf(part, above)), own)
  }
  const reachOfDefinition = (name: string, above: ReadonlyArray<string>): Reach => {
    if (above.includes(name)) return refuse(`the definition "${name}" refers to itself`)
    const before = found.get(name)
    if (before !== undefined) return before
    if (problem !== undefined) return one
    if (above.length > mostLevels) return refuse(tooFar(name))
    const below = reachOf(SchemaParts.definition(known, name), [...above, name])
    const reach = { ...below, steps: below.steps + 1 }
    found.set(name, reach)
    if (reach.steps > mostLevels) return refuse(tooFar(name))
    return reach.width > mostAlternatives
      ? refuse(`the definition "${name}" has more than ${mostAlternatives} alternatives`)
      : reach
  }
  for (const name of Object.keys(known)) reachOfDefinition(JsonPointer.escapeToken(name), [])
  return problem
}

/** The first limit that the schema exceeds; undefined if it exceeds none. */
export const problem = (schema: JsonSchema.JsonSchema): string | undefined => {
  if (isDeep(schema)) return `the schema has more than ${mostLevels} levels`
  const characters = JSON.stringify(schema).length
  return characters > mostCharacters
    ? `the schema has ${characters} characters, expected at most ${mostCharacters}`
    : definitionProblem(schema)
}

/** The limit that checking `value` against the schema would exceed; undefined if the check is within the limit. */
export const valueProblem = (schema: JsonSchema.JsonSchema, value: unknown): string | undefined =>
  SchemaSteps.count(schema, value) > SchemaSteps.most
    ? `checking them takes more than ${SchemaSteps.most} steps, because unions in the tool's schema refer to themselves in several ways: ` +
      "send smaller arguments"
    : undefined
