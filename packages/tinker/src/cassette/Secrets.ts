/** Removes credentials from recordings, because error messages of a backend may quote them. */
import type * as Schema from "effect/Schema"
import * as SentCredentials from "../wire/SentCredentials.ts"

/** Patterns for API keys of Tinker, OpenAI, Hugging Face and others, JSON web tokens, and credentials in headers and URLs. */
const secrets = [
  /\btml-[\w-]+/g,
  /\bsk-[\w-]{16,}/g,
  /\bhf_\w{10,}/g,
  /\beyJ[\w-]+\.[\w-]+\.[\w-]*/g,
  /(?<=\b(?:authorization|x-api-key)["']?\s?[:=]\s?["']?(?:bearer\s)?)(?!bearer\s)[^\s"',;]+/gi,
  /(?<=:\/\/)[^\s/@]+(?=@)/g
]

const mark = "[redacted]"

/**
 * Replaces the credentials that this client has sent, whatever their form, and then everything that matches a pattern.
 */
const stripText = (text: string) => {
  const others = SentCredentials.all().reduce((text, sent) => text.replaceAll(sent, mark), text)
  return secrets.reduce((text, secret) => text.replace(secret, mark), others)
}

type JsonObject = { readonly [name: string]: Schema.Json }

/** Replaces the credentials in the strings and property names of a JSON value by a mark. */
export const strip = (json: Schema.Json): Schema.Json => {
  if (typeof json === "string") return stripText(json)
  if (typeof json !== "object" || json === null) return json
  return isList(json) ? json.map(strip) : stripObject(json)
}

const isList = (json: JsonObject | ReadonlyArray<Schema.Json>): json is ReadonlyArray<Schema.Json> =>
  Array.isArray(json)

export const stripObject = (json: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(json).map(([name, value]) => [stripText(name), strip(value)]))
