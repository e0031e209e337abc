// The entry points of a package (the main one, others in `src`, and `testing`), each with the modules that it exports.
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"

const modulesOf = (file) =>
  [...readFileSync(file, "utf8").matchAll(/^export (type )?\* as (\w+) from "\.\/(.+)\.ts"$/gm)].map((
    [, type, as, path]
  ) => ({ as, path: join(dirname(file), `${path}.ts`), isType: type !== undefined }))

/** The main entry point first. `path` is that of its file within `src`, without `.ts`. */
export const entriesOf = (name) => {
  const source = join("packages", name, "src")
  const beside = readdirSync(source).filter((file) => /^[a-z]+\.ts$/.test(file)).map((file) => file.slice(0, -3))
  return ["index", ...beside.filter((path) => path !== "index").sort(), "testing/index"]
    .filter((path) => existsSync(join(source, `${path}.ts`)))
    .map((path) => ({ path, modules: modulesOf(join(source, `${path}.ts`)) }))
    .filter(({ modules, path }) => path === "index" || modules.length > 0)
    .map(({ modules, path }) => ({ subpath: path.replace(/\/?index$/, ""), path, modules }))
}

/** The import specifier of an entry point. */
export const specifierOf = (name, { subpath }) => ["@effect-rl", name, subpath].filter((part) => part !== "").join("/")
