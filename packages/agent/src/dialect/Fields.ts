/** Removes the fields that no schema reads from a request, and treats each as the field table says. */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as FieldTable from "./FieldTable.ts"
import type { Notes } from "./Notes.ts"
import { invalid } from "./Refusal.ts"

/** Maximum length of a value that a refusal quotes. */
const longest = 200

/** The value as JSON, for an error. */
export const shown = (value: unknown) => {
  const text = JSON.stringify(value, (_, inner) => typeof inner === "bigint" ? Number(inner) : inner)
  return text.length > longest ? `${text.slice(0, longest)}…` : text
}

/** The detail of a refusal. */
export const unexpected = (field: string, value: unknown, because: string) =>
  `${field} is ${shown(value)}, expected none: ${because}`

/** Whether the value has a field at the path that begins at step `at`. Most bodies lack most fields, so nothing is copied to find out. */
const has = (value: unknown, steps: ReadonlyArray<string>, at = 0): boolean => {
  const step = steps[at]
  if (step === undefined) return true
  if (step === "[]") return Array.isArray(value) && value.some((one) => has(one, steps, at + 1))
  return Predicate.isObject(value) && Object.hasOwn(value, step) && has(value[step], steps, at + 1)
}

/** A value without the fields at a path, and the removed values. */
interface Taken {
  readonly left: unknown
  readonly found: ReadonlyArray<unknown>
}

const take = (value: unknown, [step = "", ...rest]: ReadonlyArray<string>): Taken => {
  const nothing: Taken = { left: value, found: [] }
  if (step === "[]") {
    if (!Array.isArray(value)) return nothing
    const taken = value.map((one: unknown) => take(one, rest))
    const found = taken.flatMap((one) => one.found)
    return found.length === 0 ? nothing : { left: taken.map(({ left }) => left), found }
  }
  if (!Predicate.isObject(value) || !Object.hasOwn(value, step)) return nothing
  const { [step]: held, ...others } = value
  if (rest.length === 0) return { left: others, found: [held] }
  const { found, left } = take(held, rest)
  return found.length === 0 ? nothing : { left: { ...value, [step]: left }, found }
}

interface Step {
  readonly row: FieldTable.Row
  readonly steps: ReadonlyArray<string>
}

const taken: ReadonlyArray<FieldTable.Treatment> = ["no effect", "not given", "refused"]

/** The table rows whose fields are removed: fields without effect, not given or refused, unless the schema reads them. */
const stepsOf = (kind: FieldTable.Kind, isRead: (path: string) => boolean): ReadonlyArray<Step> =>
  FieldTable.rows
    .filter(({ kinds, path, treatment }) => kinds.includes(kind) && taken.includes(treatment) && !isRead(path))
    .map((row) => ({ row, steps: row.path.split(/\.|(?=\[\])/) }))

const isUsual = ({ usual }: FieldTable.Row, value: unknown) =>
  value === null || usual.some((one) => shown(one) === shown(value))

/**
 * Returns a function that removes the fields of `stepsOf` from a body and notes them. The function fails at a refused field and, unless the
 * caller is lenient, at a field that is not given.
 */
export const settle = (kind: FieldTable.Kind, isRead: (path: string) => boolean) => {
  const all = stepsOf(kind, isRead)
  return Effect.fnUntraced(function*(body: unknown, notes: Notes) {
    let rest = body
    for (const { row, steps } of all) {
      if (!has(rest, steps)) continue
      const { found, left } = take(rest, steps)
      rest = left
      const [value] = found.filter((one) => !isUsual(row, one))
      if (value === undefined) continue
      const { because, path, treatment } = row
      if (treatment === "no effect") yield* notes.noEffect(path, because)
      else if (treatment === "refused") return yield* invalid(unexpected(path, value, because), path)
      else yield* notes.notGiven(path, unexpected(path, value, because))
    }
    return rest
  })
}
