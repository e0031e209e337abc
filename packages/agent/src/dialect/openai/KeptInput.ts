/** Resolves Responses API input that refers to earlier responses and their items. */
import * as Effect from "effect/Effect"
import * as Kept from "../Kept.ts"
import { invalid, Refusal } from "../Refusal.ts"
import type * as Wire from "./OpenAiResponse.ts"

const itemsOf = (input: Wire.Create["input"]): ReadonlyArray<Wire.Sent> =>
  typeof input === "string" ? [{ role: "user", content: input }] : input

const isReference = (item: Wire.Sent): item is Wire.Reference => item.type === "item_reference"

const notStored = "no response is stored: send the whole conversation as input"

const earlier = (kept: Kept.Kept | undefined, id: string | undefined) => {
  if (id === undefined) return Effect.succeed([])
  if (kept === undefined) return Effect.fail(invalid(`previous_response_id is "${id}", expected none: ${notStored}`))
  const parts = Kept.upTo(kept.responses, id)
  if (parts !== undefined) return Effect.succeed(parts.flatMap(({ items }) => items))
  const detail = `previous_response_id is "${id}", expected a response of this session`
  return Effect.fail(
    new Refusal({ status: 400, detail, field: "previous_response_id", code: "previous_response_not_found" })
  )
}

const resolved = (kept: Kept.Kept | undefined, item: Wire.Sent): Effect.Effect<Wire.Item, Refusal> => {
  if (!isReference(item)) return Effect.succeed(item)
  const found = kept?.items.get(item.id)
  return found === undefined
    ? Effect.fail(invalid(`input has a reference to "${item.id}", expected the item itself: ${notStored}`, "input"))
    : Effect.succeed(found)
}

/** The input of a request, with its references resolved. */
export interface Resolved {
  /** The id of the response that the request continues; undefined if it begins a conversation. */
  readonly previous: string | undefined
  readonly sent: ReadonlyArray<Wire.Item>
  /** The whole conversation: all items up to the previous response, then those that were sent. */
  readonly all: ReadonlyArray<Wire.Item>
}

/** Resolves the references of an input. Fails for unknown ids. */
export const resolve = Effect.fnUntraced(function*(
  kept: Kept.Kept | undefined,
  { input, previous_response_id }: Pick<Wire.Create, "input" | "previous_response_id">
) {
  const previous = previous_response_id ?? undefined
  const before: ReadonlyArray<Wire.Item> = yield* earlier(kept, previous)
  const sent = yield* Effect.forEach(itemsOf(input), (item) => resolved(kept, item))
  return { previous, sent, all: [...before, ...sent] } satisfies Resolved
})

/** Keeps a response and its items. */
export const keep = (
  kept: Kept.Kept,
  response: string,
  { previous, sent }: Resolved,
  output: ReadonlyArray<Wire.Item & { readonly id: string }>
): void => {
  for (const item of output) kept.items.set(item.id, item)
  kept.responses.set(response, { items: [...sent, ...output], ...(previous !== undefined && { previous }) })
}
