#!/usr/bin/env node
/**
 * The command as it is installed. It tells a Node that is too old so, before it loads what that cannot run. The page of `--help` was written
 * when the package was built and is shown without loading anything; for everything else the compiled code of an earlier call is used again.
 */
import { readFileSync } from "node:fs"
// A name that an old Node does not have may not be imported: it would fail before the first line runs.
import nodeModule from "node:module"

const { argv, env, stderr, stdout, versions } = process

/** Which page the terminal takes; undefined where that is for the command to find out. */
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
