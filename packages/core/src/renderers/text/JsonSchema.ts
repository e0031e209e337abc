/** Reads the JSON schemas of tools without assuming that they are well-formed. */
import type * as Schema from "effect/Schema"
import * as PythonJson from "./PythonJson.ts"

export const isObject = (json: Schema.Json | undefined): json is Schema.JsonObject =>
  typeof json === "object" && json !== null && !Array.isArray(json)

const isArray = (json: Schema.Json | undefined): json is Schema.JsonArray => Array.isArray(json)

/** The object, or `{}` for any other value. */
export const object = (json: Schema.Json | undefined): Schema.JsonObject => isObject(json) ? json : {}

/** The array, or `[]` for any other value. */
export const list = (json: Schema.Json | undefined): Schema.JsonArray => isArray(json) ? json : []

/** JSON with Python's default formatting. */
export const stringify = (json: Schema.Json): string => PythonJson.stringify(PythonJson.fromJson(json))

/** JSON with Python's formatting, but without ASCII escapes. */
export const stringifyLetters = (json: Schema.Json): string =>
  PythonJson.stringify(PythonJson.fromJson(json), { ascii: false })

/** A value as Python's `str` prints it. */
export const display = (json: Schema.Json): string => PythonJson.display(PythonJson.fromJson(json))

/** The field as Python's `str` prints it; empty if it is missing, null or false. */
export const text = (json: Schema.Json | undefined): string =>
  json === undefined || json === null || json === false ? "" : display(json)
