/** The sum that an arithmetic prompt asks for. */
import * as Option from "effect/Option"

const question = /What is (\d+) \+ (\d+)\?/g

/** The sum of the last question in the text; worked examples come before it. */
export const ofPrompt = (prompt: string): Option.Option<number> =>
  Option.map(Option.fromUndefinedOr([...prompt.matchAll(question)].at(-1)), ([, a, b]) => Number(a) + Number(b))
