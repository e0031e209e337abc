/** Request bodies of OpenAI and Anthropic clients. Every field is read, ignored with a note, or refused by name. */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import * as Json from "../wire/Json.ts"
import * as Fields from "./Fields.ts"
import type { Kind } from "./FieldTable.ts"
import type { Incoming } from "./Incoming.ts"
import * as Length from "./Length.ts"
import * as Notes from "./Notes.ts"
import { invalid } from "./Refusal.ts"

/**
 * `nested` counts messages, their parts, tools, and the arrays and objects inside them; `values` allows for the tokens of the longest
 * prompt.
 */
const limits: Json.Limits = { nested: 30_000, values: 300_000, names: 60_000 }

/** Bodies up to this many characters are decoded within a few milliseconds. */
const short = 65_536

interface Known extends Schema.Decoder<unknown> {
  readonly fields: Readonly<Record<string, unknown>>
}

/** Fails if a long body cannot fit into its model's context, before time is spent on decoding each message and tool. */
const fits = Effect.fnUntraced(function*({ answerer }: Incoming, body: unknown, characters: number) {
  if (characters <= short || !Predicate.hasProperty(body, "model") || typeof body.model !== "string") return
  yield* Length.check(yield* answerer.chatModel(body.model), "the body", Length.ofJson(body))
})

const unknown = "this server does not know the field"

/** Whether a tool declares a type that is not in `types`, such as a tool that the server would have to run. */
const isOther = (types: ReadonlyArray<string>) => (tool: unknown) =>
  Predicate.hasProperty(tool, "type") && typeof tool.type === "string" && !types.includes(tool.type)

/** The body without the tools whose type is not in `types`. Fails for such a tool unless the caller is lenient. */
const withOwnTools = Effect.fnUntraced(function*(body: unknown, types: ReadonlyArray<string>, notes: Notes.Notes) {
  if (!Predicate.isObject(body) || !Array.isArray(body["tools"])) return body
  const { tools }: { tools?: ReadonlyArray<unknown> } = body
  const isForeign = isOther(types)
  const expected = types.map((type) => `"${type}"`).join(" or ")
  for (const [index, tool] of (tools ?? []).entries()) {
    if (!isForeign(tool)) continue
    const type = Predicate.hasProperty(tool, "type") ? tool.type : undefined
    yield* notes.notGiven(
      "tools[].type",
      `tools[${index}].type is ${Fields.shown(type)}, expected ${expected}: this server runs no tools`
    )
  }
  return { ...body, tools: (tools ?? []).filter((tool) => !isForeign(tool)) }
})

/** How to read the requests of an endpoint. */
export interface Form<S extends Known> {
  readonly kind: Kind
  readonly schema: S
  /** The types of tools that the client runs itself. */
  readonly tools: ReadonlyArray<string>
}

/** Returns a reader for one endpoint's requests. The reader yields the decoded body and the notes on the request. */
export const reading = <S extends Known>({ kind, schema, tools }: Form<S>) => {
  const isKnown = (field: string) => Object.hasOwn(schema.fields, field)
  const settle = Fields.settle(kind, isKnown)
  const decode = Json.decodeRequest(schema)
  const withoutUnknown = Effect.fnUntraced(function*(body: unknown, notes: Notes.Notes) {
    if (!Predicate.isObject(body)) return body
    const fields = Object.entries(body)
    for (const [field, value] of fields) {
      if (isKnown(field) || value === null) continue
      yield* notes.notGiven(field, Fields.unexpected(field, value, unknown))
    }
    return Object.fromEntries(fields.filter(([field]) => isKnown(field)))
  })
  return (incoming: Incoming) =>
    Effect.gen(function*() {
      const notes = Notes.make(incoming)
      const text = yield* incoming.body
      const body = yield* Json.parse(text, limits)
      const settled = yield* settle(body, notes)
      const known = yield* withoutUnknown(settled, notes)
      yield* fits(incoming, body, text.length)
      const { unread, value } = yield* decode(yield* withOwnTools(known, tools, notes))
      if (unread !== undefined) yield* notes.notGiven("fields within others", unread)
      return { notes, value }
    }).pipe(Effect.catchTag("MalformedBody", ({ message }) => Effect.fail(invalid(message))))
}
