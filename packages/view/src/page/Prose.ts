/**
 * Text formatted as Markdown. Markdown marks stay in place but are fainter: every character is shown in a text node, so copied text equals
 * the original.
 */
import { type Child, h } from "./Dom.ts"

/** Longer lines are shown unformatted. */
const longestLine = 4000

const marked = (shade: string, mark: string, ...inner: ReadonlyArray<Child>): Child =>
  h("span", { class: shade }, h("span", { class: "mark" }, mark), ...inner, h("span", { class: "mark" }, mark))

/** Inline code, strong and emphasised text. A star between two letters or digits is a multiplication sign. */
const inlines =
  /(?<ticks>`+)(?<code>[^`\n]+)\k<ticks>(?!`)|(?<![\p{L}\p{N}*])(?<strong>\*\*)(?=\S)(?<bold>[^*\n]+?)(?<=\S)\*\*(?![\p{L}\p{N}*])|(?<![\p{L}\p{N}*])(?<star>\*)(?=\S)(?<slanted>[^*\n]+?)(?<=\S)\*(?![\p{L}\p{N}*])/gu

const inline = (text: string): ReadonlyArray<Child> => {
  if (text.length > longestLine) return [text]
  const parts: Array<Child> = []
  let end = 0
  for (const { 0: whole, groups = {}, index } of text.matchAll(inlines)) {
    const { bold = "", code, slanted = "", star, strong, ticks } = groups
    parts.push(text.slice(end, index))
    if (ticks !== undefined && code !== undefined) parts.push(marked("code", ticks, code))
    else if (strong !== undefined) parts.push(marked("strong", strong, bold))
    else if (star !== undefined) parts.push(marked("slanted", star, slanted))
    end = index + whole.length
  }
  return [...parts, text.slice(end)]
}

const heading = /^(#{1,6} )(.*)$/s
const item = /^(\s*(?:[-*+]|\d{1,3}[.)]) +)(.*)$/s
const quote = /^(> ?)(.*)$/s
const fence = /^\s*(?:```|~~~)/
const rows = /^\s*\|/

/** Lines with their ends. */
const linesOf = (text: string) => text.match(/[^\n]*\n|[^\n]+$/g) ?? []

const block = (shade: string, ...inner: ReadonlyArray<Child>): Child => h("span", { class: shade }, ...inner)

const lineOf = (line: string): Child => {
  const [, mark = "", rest = ""] = heading.exec(line) ?? item.exec(line) ?? quote.exec(line) ?? []
  if (mark === "") return rows.test(line) ? block("code-line", line) : inline(line)
  const shade = heading.test(line) ? "heading" : quote.test(line) ? "quote" : "item"
  return block(shade, h("span", { class: "mark" }, mark), ...inline(rest))
}

/** Elements for a text. Their text contents, concatenated, equal the text. */
export const nodes = (text: string): ReadonlyArray<Child> => {
  let isFenced = false
  return linesOf(text).map((line) => {
    const isFence = fence.test(line)
    if (isFence) isFenced = !isFenced
    if (isFence) return block("code-line mark", line)
    return isFenced ? block("code-line", line) : lineOf(line)
  })
}
