// Puts the Node pinned in tools/node first for this repository's npm scripts, only when the Node on PATH is too old.
import { execFileSync } from "node:child_process"
import { mkdirSync, rmSync, symlinkSync } from "node:fs"

const [major, minor] = process.versions.node.split(".").map(Number)
if (major > 22 || (major === 22 && minor >= 19)) process.exit(0)

const binary = `tools/node/node_modules/node-${process.platform}-${process.arch}/bin/node`
try {
  execFileSync(process.execPath, [process.env.npm_execpath, "ci", "--prefix", "tools/node"], { stdio: "inherit" })
  const version = execFileSync(binary, ["--version"], { encoding: "utf8" }).trim()
  mkdirSync("node_modules/.bin", { recursive: true })
  rmSync("node_modules/.bin/node", { force: true })
  symlinkSync(`../../${binary}`, "node_modules/.bin/node")
  console.log(
    `Node ${process.versions.node} is too old (needs 22.19): npm scripts here run on ${version} from tools/node`
  )
} catch {
  console.warn(`Node ${process.versions.node} is too old: install Node 22.19 or newer`)
}
