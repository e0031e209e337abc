/**
 * Pictures are plain SVG rather than a chart library's canvas: points are named elements that can be clicked and tested, colours come from
 * the style sheet, and exported pages print.
 */
import { h } from "./Dom.ts"

export const svg = h

/** A picture with a text description for screen readers. */
export const picture = (
  label: string,
  width: number,
  height: number,
  attributes: Parameters<typeof h>[1],
  ...children: Parameters<typeof h> extends [unknown, unknown?, ...infer C] ? C : never
) => h("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, ...attributes }, ...children)
