// Fails if the second column of docs/compatibility.md has a name that no package exports.
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { entriesOf } from "./entries.mjs"

/** Files of all public modules by their names. */
const modules = new Map(
  readdirSync("packages").flatMap((name) =>
    entriesOf(name).filter(({ path }) => !path.startsWith("testing"))
      .flatMap(({ modules }) => modules.map(({ as, path }) => [as, path]))
  )
)

/** The source of a module, including the files that it re-exports. */
const text = (file) => {
  const own = readFileSync(file, "utf8")
  const others = [...own.matchAll(/export [^"]*? from "(\..+?)"/g)].map(([, path]) => join(dirname(file), path))
  return [own, ...others.map((other) => readFileSync(other, "utf8"))].join("\n")
}

const isExported = (module, [name, member]) => {
  const file = modules.get(module)
  if (file === undefined) return false
  const source = text(file)
  const declared = new RegExp(
    `export (?:declare )?(?:const|function|class|interface|type) ${name}\\b|export \\{[^}]*\\b${name}\\b`
  )
  return declared.test(source) && (member === undefined || new RegExp(`readonly ${member}\\??:`).test(source))
}

const rows = readFileSync("docs/compatibility.md", "utf8").matchAll(/^\| `[^|]+` \| ([^|]+) \| [^|]+ \|$/gm)
const names = [...rows].flatMap(([, here]) => [...here.matchAll(/`(\w+)\.([\w.]+)`/g)])
const missing = new Set(
  names.filter(([, module, path]) => !isExported(module, path.split("."))).map(([name]) => name)
)

if (names.length === 0) missing.add("no names at all: did the table change?")
if (missing.size > 0) {
  console.error(`docs/compatibility.md has names that are not exported: ${[...missing].join(", ")}`)
  process.exit(1)
}
