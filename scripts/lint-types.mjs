// Refuses Effects and promises that nothing awaits. These linters need types, and one of them a compiler older than ours, so they
// stay out of the repository's dependencies: they are installed in tools/lint when this runs. Without a lockfile there, because npm
// refuses one that names packages of other platforms which the registry does not have.
import { execFileSync, spawnSync } from "node:child_process"
import { join } from "node:path"

const tools = "tools/lint"
const run = (command, args, options = {}) => execFileSync(command, args, { stdio: "inherit", ...options })

run("npm", ["install", "--prefix", tools, "--no-package-lock", "--no-audit", "--no-fund", "--silent"])

// A test of node:test is a promise that its runner awaits: the settings beside this linter name it.
run("npx", [
  "oxlint",
  "-c",
  join(tools, "oxlintrc.json"),
  "--type-aware",
  "--ignore-pattern",
  "**/assembly",
  "packages",
  "examples",
  "benchmark"
], {
  env: { ...process.env, OXLINT_TSGOLINT_PATH: join(process.cwd(), tools, "node_modules/.bin/tsgolint") }
})

/** Its other rules see some of our generics less exactly than the compiler does. */
const isFloating = (line) => line.includes("effect(floatingEffect)")

const { status, stdout } = spawnSync(process.execPath, [
  "--max-old-space-size=6000",
  "node_modules/@effect/language-service/cli.js",
  "diagnostics",
  "--project",
  join(process.cwd(), tools, "tsconfig.json"),
  "--severity",
  "error",
  "--format",
  "text",
  "--lspconfig",
  "{}"
], { cwd: tools, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] })

const [checked] = /Checked [1-9]\d* files/.exec(stdout) ?? []
if (checked === undefined) throw new Error(`the linter of Effects ended with ${status}: ${stdout}`)
const floating = stdout.split("\n").filter(isFloating)
console.log([...floating, `${checked}: ${floating.length} floating Effects`].join("\n"))
if (floating.length > 0) process.exitCode = 1
