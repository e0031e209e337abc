/** Flags for the sampling of answers. */
import * as Flag from "effect/cli/Flag"
import * as SubjectFlags from "../eval/SubjectFlags.ts"
import * as NamedRecipe from "../NamedRecipe.ts"

const whole = (name: string, least: number) =>
  Flag.Int(name).pipe(
    Flag.filter((value) => value >= least, () => `a whole number of at least ${least}`),
    Flag.withMetavar("number")
  )

export const flags = {
  ...SubjectFlags.flags,
  recipe: NamedRecipe.flag,
  maxTokens: whole("max-tokens", 1).pipe(
    Flag.withDescription("Largest number of tokens in an answer (default: 256)"),
    Flag.withDefault(256)
  ),
  temperature: Flag.Finite("temperature").pipe(
    Flag.filter((value) => value >= 0, () => "a number of at least 0"),
    Flag.withDescription("0 takes the most likely token (default: 1)"),
    Flag.withDefault(1)
  ),
  seed: whole("seed", 0).pipe(
    Flag.withDescription("The same seed gives the same answers (default: 0)"),
    Flag.withDefault(0)
  )
}

/** `--n`: the number of answers per prompt. */
export const number = whole("n", 1).pipe(Flag.withDescription("How many answers (default: 1)"), Flag.withDefault(1))
