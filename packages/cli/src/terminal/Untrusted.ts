/** Makes text from a model or a data file safe to show on a terminal. */

const invisible = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu

const code = (character: string) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`

/** Escapes control and formatting characters, so the text cannot move the cursor, change colours or reverse its direction. */
export const show = (text: string): string => text.replace(invisible, code)

/** Like `show`, but keeps line breaks. */
export const showLines = (text: string): string => text.split("\n").map(show).join("\n")

const unescapedByJson = /[\u007f-\u009f]|\p{Cf}|[\u2028\u2029]/gu

/** One line of JSON in which control characters that JSON permits are escaped too. */
export const json = (value: unknown): string =>
  JSON.stringify(value).replace(unescapedByJson, (character) =>
    Array.from(
      { length: character.length },
      (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`
    ).join(""))
