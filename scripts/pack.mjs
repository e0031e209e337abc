// Builds every package and packs them into tarballs, which other projects can install.
//   node scripts/pack.mjs [folder]      default: tarballs
import { execFileSync } from "node:child_process"
import { globSync, mkdirSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"

const npm = (...args) => execFileSync("npm", args, { stdio: ["ignore", "ignore", "inherit"] })

const folder = process.argv[2] ?? "tarballs"
mkdirSync(folder, { recursive: true })
for (const old of globSync(join(folder, "*effect-rl-*.tgz"))) rmSync(old)

npm("run", "-s", "build")
for (const name of ["view", "cli", "create"]) npm("run", "-s", "bundle", "-w", `packages/${name}`)
for (const name of readdirSync("packages")) {
  npm("pack", "--ignore-scripts", "--pack-destination", folder, "-w", `packages/${name}`)
}
console.log(`packed into ${folder}: ${readdirSync(folder).join(", ")}`)
