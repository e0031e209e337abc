/** A one-line summary of a certificate, as an SVG badge for a README. */
import * as Certificate from "./Certificate.ts"

const height = 20

/** The average character width of 11 px Verdana, in pixels. */
const characterWidth = 6.6
const padding = 12

const label = "Tinker API"

const widthOf = (text: string) => Math.round(text.length * characterWidth + padding)

const colors = { good: "#2e7d32", bad: "#c62828", label: "#444" }

const part = (text: string, x: number, width: number, color: string) =>
  `<rect x="${x}" width="${width}" height="${height}" fill="${color}"/>`
  + `<text x="${x + width / 2}" y="14" text-anchor="middle">${text}</text>`

/**
 * The badge as SVG text. The badge says how many checks passed, out of those that are not `absent`, and is green if none failed.
 *
 * @example
 * const badge = (certificate: Certificate.Certificate) => Badge.svg(certificate)
 */
export const svg = (certificate: Pick<Certificate.Certificate, "results">): string => {
  const { failed, passed } = Certificate.counts(certificate)
  const text = `${passed} of ${passed + failed} checks`
  const [left, right] = [widthOf(label), widthOf(text)]
  const color = Certificate.isGood(certificate) ? colors.good : colors.bad
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${left + right}" height="${height}" role="img" `
    + `aria-label="${label}: ${text}"><g fill="#fff" font-family="Verdana,sans-serif" font-size="11">`
    + `${part(label, 0, left, colors.label)}${part(text, left, right, color)}</g></svg>\n`
}
