// Writes the `exports` of each package: its entry points, and each module that one of them lists, so that the types which a program
// infers have a name. Every other module is private: the condition of our own sources alone opens it. With --check it fails on a difference,
// and on an entry point that does not begin with a sentence about it and whether its names are stable or advanced.
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"
import { entriesOf } from "./entries.mjs"

const entry = (path) => ({
  "@effect-rl/source": `./src/${path}.ts`,
  types: `./dist/${path}.d.ts`,
  default: `./dist/${path}.js`
})

const exportsOf = (name) => {
  const entries = entriesOf(name)
  const modules = entries.filter(({ path }) => !path.startsWith("testing")).flatMap(({ modules }) => modules)
  const paths = new Set(modules.map(({ path }) => relative(join("packages", name, "src"), path).slice(0, -3)))
  return {
    "./package.json": "./package.json",
    ...Object.fromEntries(entries.map(({ path, subpath }) => [subpath === "" ? "." : `./${subpath}`, entry(path)])),
    ...Object.fromEntries([...paths].sort().map((path) => [`./${path}`, entry(path)])),
    "./*": { "@effect-rl/source": "./src/*.ts" }
  }
}

/** The first line of an entry point, which its readers see. */
const opening = /^\/\*\* .+\. (Stable|Advanced)\. \*\/\n/

const checkOpenings = (name) => {
  for (const { path } of entriesOf(name)) {
    const file = join("packages", name, "src", `${path}.ts`)
    if (opening.test(readFileSync(file, "utf8"))) continue
    console.error(`${file} must begin with a line such as "/** Runs for other tools. Stable. */", or Advanced`)
    process.exitCode = 1
  }
}

const isCheck = process.argv.includes("--check")

for (const name of readdirSync("packages")) {
  if (isCheck) checkOpenings(name)
  const file = join("packages", name, "package.json")
  const before = readFileSync(file, "utf8")
  const after = `${JSON.stringify({ ...JSON.parse(before), exports: exportsOf(name) }, null, 2)}\n`
  if (before === after) continue
  if (isCheck) {
    console.error(`${file} does not list what its entry points export: run npm run exports`)
    process.exitCode = 1
  } else writeFileSync(file, after)
}
