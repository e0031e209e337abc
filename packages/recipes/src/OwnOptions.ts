/** Options that only some choices have, such as those of a loss or of a credit. */
import { InvalidOption } from "@effect-rl/core"
import * as Effect from "effect/Effect"

/** The options among the settings that were given, by name. */
export const given = (settings: object, options: ReadonlyArray<string>) =>
  Object.entries(settings).filter(([name, value]) => options.includes(name) && value !== undefined)

/** Fails with the first of all `options` that was given and is not one of the choice's `own`. */
export const check = (
  choice: string,
  settings: object,
  { options, own }: { readonly options: ReadonlyArray<string>; readonly own: ReadonlyArray<string> }
): Effect.Effect<void, InvalidOption.InvalidOption> => {
  const [foreign] = given(settings, options.filter((name) => !own.includes(name)))
  if (foreign === undefined) return Effect.void
  const [field, found] = foreign
  const expected = `no value: ${choice} does not have this option`
  return Effect.fail(new InvalidOption.InvalidOption({ field, found: String(found), expected }))
}
