/** Terminal colours, or none. */

export type Paint = (text: string) => string

export interface Style {
  readonly bold: Paint
  readonly dim: Paint
  readonly good: Paint
  readonly warn: Paint
  readonly bad: Paint
}

const sequence = (code: number): Paint => (text) => `\u001b[${code}m${text}\u001b[0m`

const asIs: Paint = (text) => text

export const plain: Style = { bold: asIs, dim: asIs, good: asIs, warn: asIs, bad: asIs }

export const colored: Style = {
  bold: sequence(1),
  dim: sequence(2),
  good: sequence(32),
  warn: sequence(33),
  bad: sequence(31)
}

const escape = "\\u001b\\[[0-9;]*m"

/** The text without colours. */
export const strip = (text: string): string => text.replaceAll(new RegExp(escape, "g"), "")
