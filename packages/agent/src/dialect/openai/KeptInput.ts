/** Resolves Responses API input that refers to earlier responses and their items. */
import * as Effect from "effect/Effect"
import type { Kept } from "../Kept.ts"
import { invalid, Refusal } from "../Refusal.ts"
import type * as Wire from "./OpenAiResponse.ts"

const itemsOf = (input: Wire.Create["input"]): ReadonlyArray<Wire.Sent> =>
  typeof input === "string" ? [{ role: "user", content: input }] : input

const isReference = (item: Wire.Sent): item is Wire.Reference => item.type === "item_reference"

const notStored = "no response is stored: send the whole conversation as input"

const earlier = (kept: Kept | undefined, id: string | null | undefined) => {
  if (id === null || id === undefined) return Effect.succeed([])
  if (kept === undefined) return Effect.fail(invalid(`previous_response_id is "${id}", expected none: ${notStored}`))
  const items = kept.responses.get(id)
  if (items !== undefined) return Effect.succeed(items)
  const detail = `previous_response_id is "${id}", expected a response of this session`
  return Effect.fail(
    new Refusal({ status: 400, detail, field: "previous_response_id", code: "previous_response_not_found" })
  )
}

const resolved = (kept: Kept | undefined, item: Wire.Sent): Effect.Effect<Wire.Item, Refusal> => {
  if (!isReference(item)) return Effect.succeed(item)
  const found = kept?.items.get(item.id)
  return found === undefined
    ? Effect.fail(invalid(`input has a reference to "${item.id}", expected the item itself: ${notStored}`, "input"))
    : Effect.succeed(found)
}

/** The whole conversation: the items of the previous response, then the input with its references resolved. Fails for unknown ids. */
export const resolve = Effect.fnUntraced(function*(
  kept: Kept | undefined,
  { input, previous_response_id }: Pick<Wire.Create, "input" | "previous_response_id">
) {
  const before: ReadonlyArray<Wire.Item> = yield* earlier(kept, previous_response_id)
  const sent = yield* Effect.forEach(itemsOf(input), (item) => resolved(kept, item))
  return [...before, ...sent]
})

/** Keeps a response and its items. */
export const keep = (
  kept: Kept,
  response: string,
  input: ReadonlyArray<Wire.Item>,
  output: ReadonlyArray<Wire.Item & { readonly id: string }>
): void => {
  for (const item of output) kept.items.set(item.id, item)
  kept.responses.set(response, [...input, ...output])
}
