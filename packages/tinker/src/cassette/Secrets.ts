/** Keeps keys out of recordings, where a backend's message quotes one. */
import type * as Schema from "effect/Schema"
import * as SentCredentials from "../wire/SentCredentials.ts"

/** API keys of the Tinker service, of OpenAI and others, and of Hugging Face, JSON web tokens, credentials in headers and addresses. */
const secrets = [
  /\btml-[\w-]+/g,
  /\bsk-[\w-]{16,}/g,
  /\bhf_\w{10,}/g,
  /\beyJ[\w-]+\.[\w-]+\.[\w-]*/g,
  /(?<=\b(?:authorization|x-api-key)["']?\s?[:=]\s?["']?(?:bearer\s)?)(?!bearer\s)[^\s"',;]+/gi,
  /(?<=:\/\/)[^\s/@]+(?=@)/g
]

const mark = "[redacted]"

/** What this client has sent is left out first, as it may have any form. */
const stripText = (text: string) => {
  const others = SentCredentials.all().reduce((text, sent) => text.replaceAll(sent, mark), text)
  return secrets.reduce((text, secret) => text.replace(secret, mark), others)
}

type JsonObject = { readonly [name: string]: Schema.Json }

/** The same JSON without keys, in its texts and in the names of its properties. */
export const strip = (json: Schema.Json): Schema.Json => {
  if (typeof json === "string") return stripText(json)
  if (typeof json !== "object" || json === null) return json
  return isList(json) ? json.map(strip) : stripObject(json)
}

const isList = (json: JsonObject | ReadonlyArray<Schema.Json>): json is ReadonlyArray<Schema.Json> =>
  Array.isArray(json)

export const stripObject = (json: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(json).map(([name, value]) => [stripText(name), strip(value)]))
