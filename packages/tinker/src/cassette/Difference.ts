/** Finds the fields in which two requests differ. */
import type * as Schema from "effect/Schema"
import * as NumberText from "./NumberText.ts"

export interface Difference {
  readonly field: string
  readonly asked: string
  readonly recorded: string
}

type Json = Schema.Json | undefined

const longest = 60

const show = (value: Json) => {
  const text = value === undefined ? "absent" : typeof value === "string" ? value : JSON.stringify(value)
  return text.length > longest ? `${text.slice(0, longest)}…` : text
}

const isList = (value: Json): value is ReadonlyArray<Schema.Json> => Array.isArray(value)

const isObject = (value: Json): value is { readonly [name: string]: Schema.Json } =>
  typeof value === "object" && value !== null && !isList(value)

/**
 * The numbers of an array in text form (see `NumberText`), one word each; undefined if the value is not such a text.
 */
const words = (value: Json): ReadonlyArray<string> | undefined => {
  if (typeof value !== "string" || !/[ *]/.test(value)) return undefined
  const runs = NumberText.runs(value)
  return runs.every(([word, count]) => NumberText.isFloat(word) && count >= 1)
    ? runs.flatMap(([word, count]) => Array.from({ length: count }, () => word))
    : undefined
}

const leaf = (field: string, asked: Json, recorded: Json): Difference => {
  const [left, right] = [words(asked), words(recorded)]
  if (left === undefined || right === undefined) return { field, asked: show(asked), recorded: show(recorded) }
  if (left.length !== right.length) {
    return { field: `${field}.length`, asked: String(left.length), recorded: String(right.length) }
  }
  const at = left.findIndex((word, index) => word !== right[index])
  return { field: `${field}[${at}]`, asked: show(left[at]), recorded: show(right[at]) }
}

/** All differing fields, in the order of the request that was made. */
export const between = (asked: Json, recorded: Json, field = ""): ReadonlyArray<Difference> => {
  if (isList(asked) && isList(recorded)) {
    return asked.length === recorded.length
      ? asked.flatMap((value, index) => between(value, recorded[index], `${field}[${index}]`))
      : [{ field: `${field}.length`, asked: String(asked.length), recorded: String(recorded.length) }]
  }
  if (isObject(asked) && isObject(recorded)) {
    const prefix = field === "" ? "" : `${field}.`
    const names = new Set([...Object.keys(asked), ...Object.keys(recorded)])
    return [...names].flatMap((name) => between(asked[name], recorded[name], `${prefix}${name}`))
  }
  return Object.is(asked, recorded) ? [] : [leaf(field, asked, recorded)]
}
