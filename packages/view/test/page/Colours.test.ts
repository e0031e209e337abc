import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"

const css = readFileSync(new URL("../../src/page/page.css", import.meta.url), "utf8")

const [light = "", dark = ""] = [...css.matchAll(/:root \{([^}]*)\}/g)].map(([, block]) => block)

/** The linear light intensity of a colour channel. */
const linear = (channel: number) => channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4

const luminance = (colour: string) => {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) =>
    linear(Number.parseInt(colour.slice(at, at + 2), 16) / 255)
  )
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** The contrast ratio of two colours, as WCAG 2.2 defines it. */
const contrast = (one: string, other: string) => {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].toSorted((left, right) => left - right)
  return (high + 0.05) / (low + 0.05)
}

const schemes = [["light", light, light], ["dark", dark, light + dark]] as const

/** The last value of the variable in the style blocks. */
const colourOf = (blocks: string, name: string) =>
  [...blocks.matchAll(new RegExp(`--${name}: (#[0-9a-f]{6})`, "g"))].at(-1)?.[1] ?? assert.fail(`no colour ${name}`)

describe.each(schemes)("the colours of the %s page", (_, __, blocks) => {
  it.each(["fill-informative", "fill-good", "fill-bad", "fill-skipped", "flight", "gold", "violet", "accent"])(
    "have a contrast of at least 3:1 between %s and the panel",
    (name) => assert.isAtLeast(contrast(colourOf(blocks, name), colourOf(blocks, "paper")), 3)
  )

  it.each(["ink", "faint", "good", "bad", "warn", "accent"])(
    "have a contrast of at least 4.5:1 between %s text and its backgrounds",
    (name) => {
      for (const ground of ["paper", "ground"]) {
        assert.isAtLeast(contrast(colourOf(blocks, name), colourOf(blocks, ground)), 4.5, ground)
      }
    }
  )
})
