// Writes the public signatures of each package to packages/<name>/<name>.api.md. Everything is rebuilt, because an
// incremental build may order the members of unions differently. With --check it reads the declarations that `npm run check` has built,
// and fails if a committed report differs, so no public name changes unnoticed.
import { execFileSync } from "node:child_process"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { entriesOf } from "./entries.mjs"

const tools = "tools/lint"
const isCheck = process.argv.includes("--check")
const scratch = mkdtempSync(join(tmpdir(), "effect-rl-api-"))
const silent = { default: { logLevel: "none" } }

/** The report of an entry point beside the main one has both names: core-records.api.md. */
const reportOf = (name, { subpath }) => subpath === "" ? name : `${name}-${subpath}`

const configure = (name, entry) => {
  const file = join("packages", name, "dist", "api-extractor.json")
  writeFileSync(
    file,
    JSON.stringify({
      projectFolder: resolve("packages", name),
      mainEntryPointFilePath: `<projectFolder>/dist/${entry.path}.d.ts`,
      compiler: { tsconfigFilePath: "<projectFolder>/tsconfig.json" },
      apiReport: {
        enabled: true,
        reportFolder: resolve("packages", name),
        reportTempFolder: scratch,
        reportFileName: reportOf(name, entry)
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: { extractorMessageReporting: silent, tsdocMessageReporting: silent, compilerMessageReporting: silent }
    })
  )
  return file
}

const textOf = (file) => existsSync(file) ? readFileSync(file, "utf8") : ""

try {
  if (!isCheck) execFileSync("npx", ["tsc", "-b", "--force", "tsconfig.packages.json"], { stdio: "inherit" })
  execFileSync("npm", ["install", "--prefix", tools, "--no-package-lock", "--no-audit", "--no-fund", "--silent"])
  const extractor = join(tools, "node_modules/@microsoft/api-extractor/bin/api-extractor")
  const entries = readdirSync("packages").flatMap((name) => entriesOf(name).map((entry) => [name, entry]))
  for (const [name, entry] of entries.filter(([, { path }]) => !path.startsWith("testing"))) {
    const report = join("packages", name, `${reportOf(name, entry)}.api.md`)
    const before = textOf(report)
    execFileSync(process.execPath, [extractor, "run", "--local", "--config", configure(name, entry)], { stdio: "pipe" })
    if (textOf(report) === before || !isCheck) continue
    console.error(`${report} did not match the package's public names and was rewritten: commit it`)
    process.exitCode = 1
  }
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
