#!/usr/bin/env node
/**
 * The installed command. It reports a Node version that is too old before it loads modules that such a version cannot run. `--help` prints
 * a page that was written when the package was built, without loading anything else. All other calls use Node's cache of compiled code.
 */
import { readFileSync } from "node:fs"
// An import of a name that an old Node lacks would fail before the first line runs, so the default import is used.
import nodeModule from "node:module"

const { argv, env, stderr, stdout, versions } = process

/** The help page that suits the terminal; undefined if the command itself must decide. */
const page = (): "help.txt" | "help.coloured.txt" | undefined => {
  if (env["FORCE_COLOR"] !== undefined || env["TERM"] === "dumb") return undefined
  return stdout.isTTY && !env["NO_COLOR"] ? "help.coloured.txt" : "help.txt"
}

const [flag = "", ...others] = argv.slice(2)
const help = ["--help", "-h"].includes(flag) && others.length === 0 ? page() : undefined

const least = [22, 19] as const
const [major = 0, minor = 0] = versions.node.split(".").map(Number)

if (major < least[0] || (major === least[0] && minor < least[1])) {
  stderr.write(
    `effect-rl needs Node ${least.join(".")} or newer, and this is Node ${versions.node}: https://nodejs.org\n`
  )
  process.exitCode = 1
} else if (help === undefined) {
  nodeModule.enableCompileCache()
  await import("./bin.ts")
} else {
  stdout.write(readFileSync(new URL(help, import.meta.url)))
}
