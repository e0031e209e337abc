/** Text that a model or a data file wrote, made safe to show on a terminal. */

const invisible = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu

const code = (character: string) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`

/** Control and formatting characters are spelled out: none can move the cursor, change a colour or turn the text around. */
export const show = (text: string): string => text.replace(invisible, code)

/** As `show`, with line breaks kept. */
export const showLines = (text: string): string => text.split("\n").map(show).join("\n")

const unescapedByJson = /[\u007f-\u009f]|\p{Cf}|[\u2028\u2029]/gu

/** One line of JSON, with the control characters that JSON leaves alone escaped too. */
export const json = (value: unknown): string =>
  JSON.stringify(value).replace(unescapedByJson, (character) =>
    Array.from(
      { length: character.length },
      (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`
    ).join(""))
