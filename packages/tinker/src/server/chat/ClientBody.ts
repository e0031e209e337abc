/** Bodies of clients of other services, whose every field is read or refused by name. */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import * as Json from "../../wire/Json.ts"
import * as Body from "../Body.ts"
import { invalid } from "../Refusal.ts"

/** Longest value that a refusal repeats. */
const longest = 200

/** Messages, their parts, tools, and arrays and objects in these. */
const mostNested = 100_000

const shown = (value: unknown) => {
  const text = JSON.stringify(value, (_, inner) => typeof inner === "bigint" ? Number(inner) : inner)
  return text.length > longest ? `${text.slice(0, longest)}…` : text
}

interface Known extends Schema.Decoder<unknown> {
  readonly fields: Readonly<Record<string, unknown>>
}

/** Decodes the body by `schema`. A field that it does not have is refused, with the reason in `refusals` where there is one. */
export const read = <S extends Known>(schema: S, refusals: Readonly<Record<string, string>>) => {
  const reasonOf = (field: string) =>
    Object.hasOwn(refusals, field) ? refusals[field] : "this server does not know the field"
  const problem = ([field, value]: readonly [string, unknown]) =>
    value === null || Object.hasOwn(schema.fields, field)
      ? []
      : [`${field} is ${shown(value)}, expected none: ${reasonOf(field)}`]
  const decode = Json.decodeExact(schema)
  return Effect.gen(function*() {
    const body = yield* Effect.flatMap(Body.text, (text) => Json.parse(text, mostNested))
    const fields = Predicate.isObject(body) ? Object.entries(body) : []
    const [refused] = fields.flatMap(problem)
    if (refused !== undefined) return yield* invalid(refused)
    return yield* decode(
      Predicate.isObject(body)
        ? Object.fromEntries(fields.filter(([name]) => Object.hasOwn(schema.fields, name)))
        : body
    )
  }).pipe(Effect.catchTag("MalformedBody", ({ message }) => Effect.fail(invalid(message))))
}
