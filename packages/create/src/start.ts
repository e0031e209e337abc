#!/usr/bin/env node
/** The command that npm starts. It checks the Node version before it loads anything else. */
import { readFileSync } from "node:fs"

const { engines, version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"))
const least: string = engines.node.slice(">=".length)
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
const [leastMajor = 0, leastMinor = 0] = least.split(".").map(Number)

if (major < leastMajor || (major === leastMajor && minor < leastMinor)) {
  process.stderr.write(
    `effect-rl needs Node ${least} or newer, and this is Node ${process.versions.node}: https://nodejs.org\n`
  )
  process.exitCode = 1
} else {
  const { main } = await import("./main.ts")
  main({ version, least, templates: new URL("../templates/", import.meta.url) })
}
