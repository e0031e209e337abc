/**
 * Pictures are our own SVG, not a chart library's canvas: a point is an element with a name that can be clicked and tested, colours
 * follow the style sheet, and an exported page prints.
 */
import { h } from "./Dom.ts"

export const svg = h

/** A picture with a description for those who do not see it. */
export const picture = (
  label: string,
  width: number,
  height: number,
  attributes: Parameters<typeof h>[1],
  ...children: Parameters<typeof h> extends [unknown, unknown?, ...infer C] ? C : never
) => h("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, ...attributes }, ...children)
