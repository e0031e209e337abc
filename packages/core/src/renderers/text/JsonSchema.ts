/** Access to JSON schemas of tools, whose form is not trusted. */
import type * as Schema from "effect/Schema"
import * as PythonJson from "./PythonJson.ts"

export const isObject = (json: Schema.Json | undefined): json is Schema.JsonObject =>
  typeof json === "object" && json !== null && !Array.isArray(json)

const isArray = (json: Schema.Json | undefined): json is Schema.JsonArray => Array.isArray(json)

/** The object, or `{}` for any other value. */
export const object = (json: Schema.Json | undefined): Schema.JsonObject => isObject(json) ? json : {}

/** The array, or `[]` for any other value. */
export const list = (json: Schema.Json | undefined): Schema.JsonArray => isArray(json) ? json : []

/** JSON as Python writes it. */
export const stringify = (json: Schema.Json): string => PythonJson.stringify(PythonJson.fromJson(json))

/** JSON as Python writes it, without escaping letters beyond ASCII. */
export const stringifyLetters = (json: Schema.Json): string =>
  PythonJson.stringify(PythonJson.fromJson(json), { ascii: false })

/** Python's `str`. */
export const display = (json: Schema.Json): string => PythonJson.display(PythonJson.fromJson(json))

/** The text of a field; empty where there is none. */
export const text = (json: Schema.Json | undefined): string =>
  json === undefined || json === null || json === false ? "" : display(json)
