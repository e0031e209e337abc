/** Keeps keys out of recordings, where a backend's message quotes one. */
import type * as Schema from "effect/Schema"

/** API keys of the Tinker service and of Hugging Face, JSON web tokens, passwords in addresses. */
const secrets = [
  /\btml-[\w-]+/g,
  /\bhf_\w{10,}/g,
  /\beyJ[\w-]+\.[\w-]+\.[\w-]*/g,
  /(?<=:\/\/)[^\s/@]+:[^\s/@]+(?=@)/g
]

const stripText = (text: string) => secrets.reduce((text, secret) => text.replace(secret, "[redacted]"), text)

type JsonObject = { readonly [name: string]: Schema.Json }

/** The same JSON without keys. */
export const strip = (json: Schema.Json): Schema.Json => {
  if (typeof json === "string") return stripText(json)
  if (typeof json !== "object" || json === null) return json
  return isList(json) ? json.map(strip) : stripObject(json)
}

const isList = (json: JsonObject | ReadonlyArray<Schema.Json>): json is ReadonlyArray<Schema.Json> =>
  Array.isArray(json)

export const stripObject = (json: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(json).map(([name, value]) => [name, strip(value)]))
