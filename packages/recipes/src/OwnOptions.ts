/** Options that only some choices accept, such as those of one loss or one credit rule. */
import { InvalidOption } from "@effect-rl/core"
import * as Effect from "effect/Effect"

/** The settings that are named in `options` and have a value, as pairs of name and value. */
export const given = (settings: object, options: ReadonlyArray<string>) =>
  Object.entries(settings).filter(([name, value]) => options.includes(name) && value !== undefined)

/** Fails with the first given option in `options` that is not in the choice's `own` options. */
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
