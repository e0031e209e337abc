/** Settings in a JSON or YAML file, with the flags' names in camelCase. */
import { InvalidOption } from "@effect-rl/core"
import { FileFailure } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Predicate from "effect/Predicate"
import { parse } from "yaml"

const refuse = (field: string, found: string, expected: string) =>
  new InvalidOption.InvalidOption({ field, found, expected })

const isSettings = (value: unknown): value is Readonly<Record<string, unknown>> =>
  Predicate.isObject(value) && !Array.isArray(value)

/** Reads the object in a file; `flag` is the flag that names the file. JSON is parsed as YAML, which includes it. */
export const read = Effect.fn("ConfigFile.read")(function*(flag: string, file: string) {
  const field = `--${flag}`
  const fs = yield* FileSystem.FileSystem
  const text = yield* Effect.mapError(
    fs.readFileString(file),
    (error) => refuse(field, file, `a file that can be read: ${FileFailure.describe("it", error)}`)
  )
  const content = yield* Effect.try({
    try: (): unknown => parse(text),
    catch: (error) => refuse(field, file, `JSON or YAML: ${Predicate.isError(error) ? error.message : String(error)}`)
  })
  return isSettings(content)
    ? content
    : yield* refuse(field, file, `an object of settings in it, not ${JSON.stringify(content)}`)
})

/** Converts settings on the command line to the values that a file would contain. */
export const fromText = Effect.fn("ConfigFile.fromText")(function*(settings: Readonly<Record<string, string>>) {
  return yield* Effect.forEach(Object.entries(settings), ([name, text]) =>
    Effect.try({
      try: (): readonly [string, unknown] => [name, parse(text)],
      catch: () => new InvalidOption.InvalidOption({ field: `--set ${name}`, found: text, expected: "a value of YAML" })
    })).pipe(Effect.map((entries) => Object.fromEntries(entries)))
})
