// Type-checks every TypeScript block of the READMEs and the guides, and every `@example` of the sources, each as a module of its own.
// Examples name the modules of this repository and of effect without importing them, and the values of docs/given.ts.
import { execFileSync } from "node:child_process"
import { globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { basename, join, relative, sep } from "node:path"
import { entriesOf, specifierOf } from "./entries.mjs"

const pages = [
  "README.md",
  ...readdirSync("docs").filter((file) => file.endsWith(".md")).map((file) => join("docs", file)),
  ...readdirSync("packages").map((name) => join("packages", name, "README.md"))
]
const blocks = "docs/.blocks"

const lineOf = (text, index) => text.slice(0, index).split("\n").length

const write = (file, line, body) =>
  writeFileSync(join(blocks, `${file.replaceAll(sep, "-")}-line-${line}.ts`), `${body}\nexport {}\n`)

const writeGuides = () => {
  let count = 0
  for (const page of pages) {
    const text = readFileSync(page, "utf8")
    for (const match of text.matchAll(/```ts\n([\s\S]*?)```/g)) {
      write(page, lineOf(text, match.index), match[1])
      count++
    }
  }
  return count
}

/** The public modules of a package. Testing modules come first, so other modules with the same name replace them. */
const publicOf = (name) =>
  entriesOf(name).toReversed().flatMap((entry) =>
    entry.modules.map(({ as, isType, path }) => ({ as, file: path, isType, from: specifierOf(name, entry) }))
  )

/** Every module of a package, from the declarations that `tsc` has built, for examples of private modules. */
const builtOf = (name) =>
  globSync(join("packages", name, "src/**/[A-Z]*.ts")).map((file) => ({
    as: basename(file, ".ts"),
    from: `../../packages/${join(name, "dist", relative(join("packages", name, "src"), file)).replace(/ts$/, "js")}`
  }))

const ofEffect = [
  "Config",
  "Console",
  "Context",
  "Duration",
  "Effect",
  "Exit",
  "FileSystem",
  "Layer",
  "Option",
  "Random",
  "Redacted",
  "Ref",
  "Result",
  "Schedule",
  "Schema",
  "Scope",
  "Stream"
]

/** The imports for the names that a package's examples may use. Of equal names, the last one counts. */
const namesOf = (name) => {
  const given = [...readFileSync("docs/given.ts", "utf8").matchAll(/^export const (\w+)/gm)]
  const named = (as, from, isType = false) => [as, `import ${isType ? "type " : ""}{ ${as} } from "${from}"`]
  return new Map([
    ...builtOf(name).map(({ as, from }) => [as, `import * as ${as} from "${from}"`]),
    ...ofEffect.map((as) => named(as, "effect")),
    ...["Decision", "DecisionModel", "LanguageModel"].map((as) => named(as, "effect/ai")),
    ...given.map(([, as]) => named(as, "../given.ts")),
    ...[...readdirSync("packages"), "core", name].flatMap((of) =>
      publicOf(of).map(({ as, from, isType }) => named(as, from, isType))
    )
  ])
}

/** The lines of a comment, without comment markers and code fences. */
const linesOf = (comment) =>
  comment.slice(3, -2).split("\n").map((line) => line.replace(/^\s*\* ?/, "").replace(/^```\w*$/, ""))

const examplesOf = (text) =>
  [...text.matchAll(/\/\*\*[\s\S]*?\*\//g)].flatMap((comment) => {
    const lines = linesOf(comment[0])
    return lines.flatMap((line, at) => {
      if (line !== "@example") return []
      const rest = lines.slice(at + 1)
      const end = rest.findIndex((next) => next.startsWith("@"))
      return [{ line: lineOf(text, comment.index) + at, body: rest.slice(0, end === -1 ? undefined : end).join("\n") }]
    })
  })

const importsOf = (body, names) =>
  [...new Set(body.replaceAll(/"[^"]*"|\.\.\./g, " ").match(/(?<![.\w])[A-Za-z]\w*/g) ?? [])]
    .filter((word) => names.has(word) && !new RegExp(`(const|function|import .*) ${word}\\b`).test(body))
    .map((word) => names.get(word))
    .join("\n")

/** Wraps an example with `yield*` in a generator. */
const program = (body) => /^(const .+ = )?yield\*/m.test(body) ? `Effect.gen(function*() {\n${body}\n})` : body

const writeExamples = () => {
  let count = 0
  for (const name of readdirSync("packages")) {
    const names = namesOf(name)
    for (const file of globSync(join("packages", name, "src/**/*.{ts,tsx}"))) {
      for (const { body: written, line } of examplesOf(readFileSync(file, "utf8"))) {
        const body = program(written)
        write(file, line, `${importsOf(body, names)}\n${body}`)
        count++
      }
    }
  }
  return count
}

const withoutExample = () =>
  readdirSync("packages").flatMap((name) => publicOf(name).filter(({ from }) => !from.endsWith("/testing")))
    .map(({ file }) => file)
    .filter((file) => examplesOf(readFileSync(file, "utf8")).length === 0)

rmSync(blocks, { recursive: true, force: true })
mkdirSync(blocks)
const guides = writeGuides()
const examples = writeExamples()
writeFileSync(
  join(blocks, "tsconfig.json"),
  JSON.stringify({
    extends: "../../tsconfig.base.json",
    include: ["*.ts"],
    compilerOptions: {
      rootDir: "../..",
      noEmit: true,
      composite: false,
      incremental: false,
      declarationMap: false,
      noUnusedLocals: false,
      verbatimModuleSyntax: false,
      types: ["node"]
    }
  })
)
try {
  execFileSync("npx", ["tsc", "-p", blocks], { stdio: "inherit" })
  console.log(`${guides} code blocks of ${pages.length} pages and ${examples} examples of the sources compile`)
} catch {
  process.exitCode = 1
}
for (const file of withoutExample()) {
  console.error(`${file}: no @example, and an entry point exports it`)
  process.exitCode = 1
}
