// Fails on an import against the direction of the pipeline: between packages, and between the rooms of one package.
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve, sep } from "node:path"

/** A package may import those named; `cli` and `examples` stand above all others. */
const packages = {
  core: [],
  files: ["core"],
  agent: ["core", "files"],
  tinker: ["core", "agent"],
  engine: ["core", "files"],
  torch: ["core", "files"],
  cluster: ["core", "files"],
  ai: ["core", "agent"],
  sandbox: ["core", "files"],
  recipes: ["core", "files", "agent", "ai", "sandbox"],
  view: ["core", "files"],
  export: ["core", "files"],
  create: [],
  cli: ["core", "files", "agent", "tinker", "engine", "torch", "cluster", "ai", "sandbox", "recipes", "view", "export"]
}

/** A room may import those before it. */
const rooms = {
  core: [
    "settings",
    "model",
    "losses",
    "backend",
    "chat",
    "renderers",
    "catalog",
    "records",
    "policy",
    "env",
    "data",
    "rollout",
    "learn",
    "evaluate",
    "story",
    "run",
    "rl",
    "supervised",
    "preference",
    "prompts",
    "report",
    "testing"
  ],
  engine: ["numerics", "model", "checkpoint", "grammar", "runtime"],
  torch: ["process", "client"],
  agent: ["wire", "dialect", "episode", "gateway", "traces", "testing"],
  tinker: ["wire", "client", "certify", "server", "cassette"],
  view: ["story", "page", "server"],
  export: ["run", "sink", "projection"]
}

/** Rooms that may not import each other, whatever their order. */
const apart = { tinker: ["client", "server", "cassette"], view: ["page", "server"], export: ["sink", "projection"] }

const sources = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))

const imports = (file) =>
  [...readFileSync(file, "utf8").matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].map((match) => match[1])

const problems = []

for (const name of readdirSync("packages")) {
  const root = join("packages", name, "src")
  const allowed = packages[name]
  if (allowed === undefined) {
    problems.push(`packages/${name} is not in the list of scripts/lint-arrows.mjs`)
    continue
  }
  const roomOf = (path) => relative(root, path).split(sep)[0]
  for (const file of sources(root)) {
    for (const target of imports(file)) {
      const other = /^@effect-rl\/([a-z]+)/.exec(target)?.[1]
      if (other !== undefined && !allowed.includes(other)) problems.push(`${file} imports ${target}`)
      if (!target.startsWith(".") || rooms[name] === undefined) continue
      const from = rooms[name].indexOf(roomOf(file))
      const to = rooms[name].indexOf(roomOf(resolve(dirname(file), target).slice(process.cwd().length + 1)))
      const isApart = [from, to].every((room) => apart[name]?.includes(rooms[name][room])) && from !== to
      if (from >= 0 && (to > from || isApart)) problems.push(`${file} imports ${target} from a later room`)
    }
  }
}

if (problems.length > 0) {
  console.error(problems.join("\n"))
  process.exit(1)
}
