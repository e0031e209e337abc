/** A prompt and a snapshot of its contents when it was shown. */
import type { Tokenizer } from "../../chat/Tokenizer.ts"
import type * as Env from "../../env/Env.ts"
import type * as ModelInput from "../../model/ModelInput.ts"

export interface ShownPrompt {
  readonly prompt: Env.Prompt
  readonly tokens: ReadonlyArray<number | string>
  /** A text that is equal for equal prompts. */
  readonly spelled: string
}

/** The token ids, with a text for each image. */
export const tokens = ({ chunks }: ModelInput.ModelInput): ReadonlyArray<number | string> =>
  chunks.flatMap((chunk): ReadonlyArray<number | string> =>
    chunk._tag === "EncodedText" ? Array.from(chunk.tokens) : [`${chunk.format} of ${chunk.data.join()}`]
  )

/** A text that is equal for equal prompts and overflows. */
export const spell = (given: Env.Prompt | Env.Overflow) =>
  JSON.stringify(given._tag === "Prompt" ? [tokens(given.input), given.stop] : given)

export const make = (prompt: Env.Prompt): ShownPrompt => ({
  prompt,
  tokens: tokens(prompt.input),
  spelled: spell(prompt)
})

/** The decoded text, with a placeholder for each image. */
export const text = ({ decode }: Tokenizer, tokens: ReadonlyArray<number | string>): string => {
  const parts: Array<string | Array<number>> = []
  for (const token of tokens) {
    const last = parts.at(-1)
    if (typeof token === "string") parts.push(`<${token.split(" ", 1).join()} image>`)
    else if (typeof last === "object") last.push(token)
    else parts.push([token])
  }
  return parts.map((part) => typeof part === "string" ? part : decode(part)).join("")
}

const longestExcerpt = 80

/** The first 80 characters of a text, quoted. */
export const beginning = (text: string) =>
  JSON.stringify(text.length > longestExcerpt ? `${text.slice(0, longestExcerpt)}…` : text)

/** The last 80 characters of a text, quoted. */
export const ending = (text: string) =>
  JSON.stringify(text.length > longestExcerpt ? `…${text.slice(-longestExcerpt)}` : text)
