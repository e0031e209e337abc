/** Bodies of clients of other services, whose every field is read or refused by name. */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import * as Json from "../wire/Json.ts"
import type { Incoming } from "./Incoming.ts"
import * as Length from "./Length.ts"
import { invalid } from "./Refusal.ts"

/** Longest value that a refusal repeats. */
const longest = 200

/** `nested` counts messages, their parts, tools, and arrays and objects in these; `values` are the tokens of the longest prompt. */
const limits: Json.Limits = { nested: 30_000, values: 300_000, names: 60_000 }

/** Most characters of a body that is decoded in a few milliseconds. */
const short = 65_536

const shown = (value: unknown) => {
  const text = JSON.stringify(value, (_, inner) => typeof inner === "bigint" ? Number(inner) : inner)
  return text.length > longest ? `${text.slice(0, longest)}…` : text
}

interface Known extends Schema.Decoder<unknown> {
  readonly fields: Readonly<Record<string, unknown>>
}

/** Fails where a body cannot fit into the context of its model, before decoding it takes time for each of its messages and tools. */
const fits = Effect.fnUntraced(function*({ answerer }: Incoming, body: unknown, characters: number) {
  if (characters <= short || !Predicate.hasProperty(body, "model") || typeof body.model !== "string") return
  yield* Length.check(yield* answerer.chatModel(body.model), "the body", Length.ofJson(body))
})

/** Decodes the body by `schema`. A field that it does not have is refused, with the reason in `refusals` where there is one. */
export const read = <S extends Known>(incoming: Incoming, schema: S, refusals: Readonly<Record<string, string>>) => {
  const reasonOf = (field: string) =>
    Object.hasOwn(refusals, field) ? refusals[field] : "this server does not know the field"
  const problem = ([field, value]: readonly [string, unknown]) =>
    value === null || Object.hasOwn(schema.fields, field)
      ? []
      : [`${field} is ${shown(value)}, expected none: ${reasonOf(field)}`]
  const decode = Json.decodeExact(schema)
  return Effect.gen(function*() {
    const text = yield* incoming.body
    const body = yield* Json.parse(text, limits)
    const fields = Predicate.isObject(body) ? Object.entries(body) : []
    const [refused] = fields.flatMap(problem)
    if (refused !== undefined) return yield* invalid(refused)
    yield* fits(incoming, body, text.length)
    return yield* decode(
      Predicate.isObject(body)
        ? Object.fromEntries(fields.filter(([name]) => Object.hasOwn(schema.fields, name)))
        : body
    )
  }).pipe(Effect.catchTag("MalformedBody", ({ message }) => Effect.fail(invalid(message))))
}
