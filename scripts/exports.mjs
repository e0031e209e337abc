// Writes the `exports` of each package: its barrel, and each module that the barrel lists, so that the types which a program infers
// have a name. Every other module is private: the condition of our own sources alone opens it. With --check it fails on a difference.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const entry = (path) => ({
  "@effect-rl/source": `./src/${path}.ts`,
  types: `./dist/${path}.d.ts`,
  default: `./dist/${path}.js`
})

const modulesOf = (barrel) =>
  [...readFileSync(barrel, "utf8").matchAll(/^export (?:type )?\* as \w+ from "\.\/(.+)\.ts"$/gm)].map(([, path]) =>
    path
  )

const exportsOf = (root) => {
  const barrels = { ".": "index", "./testing": "testing/index" }
  const found = Object.entries(barrels).filter(([, path]) => existsSync(join(root, `src/${path}.ts`)))
  return {
    "./package.json": "./package.json",
    ...Object.fromEntries(found.map(([name, path]) => [name, entry(path)])),
    ...Object.fromEntries(modulesOf(join(root, "src/index.ts")).sort().map((path) => [`./${path}`, entry(path)])),
    "./*": { "@effect-rl/source": "./src/*.ts" }
  }
}

const isCheck = process.argv.includes("--check")

for (const name of readdirSync("packages")) {
  const file = join("packages", name, "package.json")
  const before = readFileSync(file, "utf8")
  const after = `${JSON.stringify({ ...JSON.parse(before), exports: exportsOf(join("packages", name)) }, null, 2)}\n`
  if (before === after) continue
  if (isCheck) {
    console.error(`${file} does not list what src/index.ts exports: run npm run exports`)
    process.exitCode = 1
  } else writeFileSync(file, after)
}
