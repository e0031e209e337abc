/** A prompt as it was when it was shown. */
import type * as Env from "../../env/Env.ts"
import type * as ModelInput from "../../model/ModelInput.ts"

export interface Shown {
  readonly prompt: Env.Prompt
  readonly tokens: ReadonlyArray<number | string>
  /** Equal for equal prompts. */
  readonly spelled: string
}

/** Token ids, and a text for each image. */
export const tokens = ({ chunks }: ModelInput.ModelInput): ReadonlyArray<number | string> =>
  chunks.flatMap((chunk): ReadonlyArray<number | string> =>
    chunk._tag === "EncodedText" ? Array.from(chunk.tokens) : [`${chunk.format} of ${chunk.data.join()}`]
  )

/** Equal for equal prompts and overflows. */
export const spell = (given: Env.Prompt | Env.Overflow) =>
  JSON.stringify(given._tag === "Prompt" ? [tokens(given.input), given.stop] : given)

export const make = (prompt: Env.Prompt): Shown => ({
  prompt,
  tokens: tokens(prompt.input),
  spelled: spell(prompt)
})
