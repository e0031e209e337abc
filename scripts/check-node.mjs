// Reports in one line that Node is too old, instead of failing on the first TypeScript file.
import { readFileSync } from "node:fs"

const { engines } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"))
const least = engines.node.slice(">=".length)
const [major, minor] = process.versions.node.split(".").map(Number)
const [leastMajor, leastMinor] = least.split(".").map(Number)

if (major < leastMajor || (major === leastMajor && minor < leastMinor)) {
  console.error(
    `effect-rl needs Node ${least} or newer, and this is Node ${process.versions.node}: npm ci fetches one for this repository`
  )
  process.exit(1)
}
