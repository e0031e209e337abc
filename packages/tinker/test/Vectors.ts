/** Test vectors recorded from the official SDK, one `{ id, input, expect }` per line. */
import { Schema } from "effect"
import { readFileSync } from "node:fs"

const spelled: Readonly<Record<string, number>> = { "NaN": NaN, "Infinity": Infinity, "-Infinity": -Infinity, "-0": -0 }

/** Converts strings to the numbers that JSON cannot represent. */
const revive = (_: string, value: unknown) => {
  if (typeof value !== "string") return value
  return spelled[value] ?? (/^-?\d{16,}$/.test(value) ? BigInt(value) : value)
}

/** Loads vectors. The `expect` of a vector may be an error. */
export const load = <I extends Schema.Decoder<unknown>, E extends Schema.Decoder<unknown>>(
  name: string,
  input: I,
  expect: E
) => {
  const decode = Schema.decodeUnknownSync(
    Schema.Struct({
      id: Schema.String,
      input,
      expect: Schema.Union([Schema.Struct({ error: Schema.String }), expect])
    })
  )
  return readFileSync(new URL(`fixtures/${name}.jsonl`, import.meta.url), "utf8").trim().split("\n").map((line) =>
    decode(JSON.parse(line, revive))
  )
}

export const bytes = (hex: string) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))

export const hex = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")

export const isError = (expect: unknown): expect is { readonly error: string } =>
  typeof expect === "object" && expect !== null && "error" in expect
