/** The configurations of a sweep: all combinations of the given setting values. */
import { InvalidOption } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as ConfigFile from "../train/ConfigFile.ts"

/** One combination: its settings in configuration file form, and its name, which is also its folder's name. */
export interface Configuration {
  readonly name: string
  readonly settings: Readonly<Record<string, unknown>>
}

const refuse = (field: string, found: string, expected: string) =>
  Effect.fail(new InvalidOption.InvalidOption({ field, found, expected }))

/** A setting's value as a part of a folder name. */
const named = (setting: string, value: string) => `${setting}=${encodeURIComponent(value)}`

/** A setting's values. Fails if there are fewer than two, or if one is repeated. */
const values = Effect.fnUntraced(function*(setting: string, text: string) {
  const values = text.split(",").map((value) => value.trim())
  if (values.length < 2 || values.includes("") || new Set(values).size < values.length) {
    return yield* refuse(`--over ${setting}`, text, "two or more different values, separated by commas")
  }
  return values
})

/**
 * All combinations; the values of the last setting change fastest. Fails with the first swept setting that is `seed` or is also set by its
 * own flag.
 */
export const of = Effect.fnUntraced(function*(
  over: Readonly<Record<string, string>>,
  given: Readonly<Record<string, unknown>>
) {
  let texts: ReadonlyArray<Readonly<Record<string, string>>> = [{}]
  for (const [setting, text] of Object.entries(over)) {
    if (setting === "seed") return yield* refuse("--over", "seed", "another setting: --seeds trains with several seeds")
    if (Object.hasOwn(given, setting)) {
      return yield* refuse(`--over ${setting}`, text, `left out where ${setting} is given as well`)
    }
    const all = yield* values(setting, text)
    texts = texts.flatMap((before) => all.map((value) => ({ ...before, [setting]: value })))
  }
  return yield* Effect.forEach(
    texts,
    (chosen) =>
      Effect.map(ConfigFile.fromText(chosen), (settings): Configuration => ({
        name: Object.entries(chosen).map(([setting, value]) => named(setting, value)).join(","),
        settings
      }))
  )
})
