// Holds just-bash to the contract of sandboxes, and plays terminal tasks in it. It installs more than 100 MB, so it stays out of the
// repository's dependencies: it is installed in tools/just-bash when this runs.
import { spawnSync } from "node:child_process"

const run = (command, args, options = {}) => spawnSync(command, args, { stdio: "inherit", ...options }).status

const install = ["install", "--prefix", "tools/just-bash", "--no-package-lock", "--no-audit", "--no-fund", "--silent"]
if (run("npm", install, { timeout: 180_000 }) !== 0) {
  console.log("skipped: just-bash cannot be installed from npm's registry within three minutes")
} else {
  const tests = [
    "packages/sandbox/test/contract/JustBash.slow.test.ts",
    "packages/recipes/test/terminal/Places.slow.test.ts"
  ]
  process.exitCode = run("npx", ["vitest", "run", ...tests, "-t", "just-bash"]) ?? 1
}
