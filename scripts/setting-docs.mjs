// Writes the help of each setting as a comment above its field, where editors show it; --check fails if one differs from its help.
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const isCheck = process.argv.includes("--check")
const width = 140

const sources = readdirSync("packages").flatMap((name) =>
  readdirSync(join("packages", name, "src"), { recursive: true })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => join("packages", name, "src", file))
)

const text = String.raw`"(?:[^"\\]|\\.)*"`
const field = /^( +)(\w+): Setting\.(?:int|number|texts?|toggle|choice|duration|checkpoint)\(\{/
const help = new RegExp(String.raw`\bhelp:\s*(${text}(?:\s*\+\s*${text})*)`)
const literal = new RegExp(String.raw`\bdefault: (${text}|-?[\d._e]+(?:-\d+)?|true|false)`)
const unit = new RegExp(String.raw`\bunit: (${text})`)

const unquoted = (literals) => literals.match(new RegExp(text, "g")).map((one) => JSON.parse(one)).join("")

/** The call that begins on a line, up to the line that closes it. */
const callFrom = (lines, start) => {
  const [, indent] = field.exec(lines[start])
  if (/\}\),?$/.test(lines[start])) return lines[start]
  const end = lines.findIndex((line, at) => at > start && line.startsWith(`${indent}})`))
  return lines.slice(start, end + 1).join("\n")
}

const sentence = (call) => {
  const said = unquoted(help.exec(call)?.[1] ?? "\"\"")
  const default_ = literal.exec(call)?.[1]
  const of = unit.exec(call)?.[1]
  const units = of === undefined ? "" : ` ${JSON.parse(of)}`
  const isGiven = default_ === undefined || default_ === "\"\"" || said.includes("unless given")
  return `${said}.${isGiven ? "" : ` Default: ${default_.replace(/^"|"$/g, "")}${units}.`}`
}

const comment = (indent, said) => {
  const line = `${indent}/** ${said} */`
  if (line.length <= width) return [line]
  const rows = [""]
  for (const word of said.split(" ")) {
    const row = rows.at(-1)
    if (`${indent} * ${row} ${word}`.length > width) rows.push(word)
    else rows[rows.length - 1] = row === "" ? word : `${row} ${word}`
  }
  return [`${indent}/**`, ...rows.map((row) => `${indent} * ${row}`), `${indent} */`]
}

/** The index of the first line of the comment directly above, or the number of lines if there is none. */
const commentAbove = (lines) => {
  if (!lines.at(-1)?.endsWith("*/")) return lines.length
  return lines.findLastIndex((line) => /^ *\/\*\*/.test(line))
}

const documented = (source) => {
  const lines = source.split("\n")
  const written = []
  for (const [at, line] of lines.entries()) {
    const [, indent] = field.exec(line) ?? []
    if (indent !== undefined) {
      const call = callFrom(lines, at)
      if (help.test(call)) written.splice(commentAbove(written), Infinity, ...comment(indent, sentence(call)))
    }
    written.push(line)
  }
  return written.join("\n")
}

const stale = sources.filter((file) => {
  const source = readFileSync(file, "utf8")
  const next = documented(source)
  if (next === source) return false
  if (!isCheck) writeFileSync(file, next)
  return true
})

if (isCheck && stale.length > 0) {
  console.error(`the comment above a setting differs from its help: run npm run lint-fix\n${stale.join("\n")}`)
  process.exitCode = 1
}
