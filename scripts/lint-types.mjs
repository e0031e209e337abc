// Refuses Effects and promises that nothing awaits, and what else the Effect language service calls an error. These linters need
// types, and the versions of them that know our compiler come from few releases, so they stay out of the repository's dependencies:
// they are installed in tools/lint when this runs. Without a lockfile there, because npm refuses one that names packages of other
// platforms which the registry does not have.
import { spawnSync } from "node:child_process"
import { join } from "node:path"

const tools = "tools/lint"

/** Runs the command, and exits with its status if it fails. */
const run = (command, args, options = {}) => {
  const { status } = spawnSync(command, args, { stdio: "inherit", ...options })
  if (status !== 0) process.exit(status ?? 1)
}

run("npm", ["install", "--prefix", tools, "--no-package-lock", "--no-audit", "--no-fund", "--silent"])

// A test of node:test is a promise that its runner awaits, so the linter's settings allow it.
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

run(process.execPath, [
  join(tools, "node_modules/@effect/tsgo/dist/effect-tsgo.cjs"),
  "diagnostics",
  "--project",
  join(process.cwd(), tools, "tsconfig.json"),
  "--severity",
  "error",
  "--format",
  "text",
  "--lspconfig",
  "{}"
])
