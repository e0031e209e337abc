// Type-checks every TypeScript block of the READMEs and the guides, each as a module of its own.
import { execFileSync } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, sep } from "node:path"

const pages = [
  "README.md",
  ...readdirSync("docs").filter((file) => file.endsWith(".md")).map((file) => join("docs", file)),
  ...readdirSync("packages").map((name) => join("packages", name, "README.md"))
]
const blocks = "docs/.blocks"

rmSync(blocks, { recursive: true, force: true })
mkdirSync(blocks)
let count = 0
for (const page of pages) {
  for (const match of readFileSync(page, "utf8").matchAll(/```ts\n([\s\S]*?)```/g)) {
    const line = readFileSync(page, "utf8").slice(0, match.index).split("\n").length
    writeFileSync(join(blocks, `${page.replaceAll(sep, "-")}-line-${line}.ts`), `${match[1]}\nexport {}\n`)
    count++
  }
}
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
      types: ["node"]
    }
  })
)
try {
  execFileSync("npx", ["tsc", "-p", blocks], { stdio: "inherit" })
  console.log(`${count} code blocks of ${pages.length} pages compile`)
} catch {
  process.exitCode = 1
}
