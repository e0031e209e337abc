// Bundles the command into dist/effect-rl.mjs and dist/bin.mjs, so that it starts without reading hundreds of modules, and writes its
// page of help beside them. What our own packages bring along as files (workers, models) is still found in the packages:
// import.meta.url of their modules stays their own.
import { execFileSync } from "node:child_process"
import { chmod, rm, writeFile } from "node:fs/promises"
import { join, relative } from "node:path"
import { rolldown } from "rolldown"
import * as undici from "undici"

const root = join(import.meta.dirname, "..")
const packages = join(root, "..")

/** Loaded from node_modules when needed: they hold binaries, or files read at run time. */
const external = [/^rolldown/, /^@resvg\//, /^dejavu-fonts-ttf\//, /^@huggingface\//, /^hyparquet/]

const ownUrl = {
  name: "own-url",
  transform(code, id) {
    const [name, source, ...path] = relative(packages, id).split("/")
    if (source !== "src" || name === "cli" || !code.includes("import.meta.url")) return null
    const file = JSON.stringify(`dist/${path.join("/").replace(/\.ts$/, ".js")}`)
    const root = JSON.stringify(`@effect-rl/${name}/package.json`)
    return code.replaceAll("import.meta.url", `new URL(${file}, import.meta.resolve(${root})).href`)
  }
}

/** A bundler cannot tell which names a module in the old form exports: `export *` of one would export nothing. */
const undiciNames = {
  name: "undici-names",
  transform(_, id) {
    if (!id.endsWith("platform-node/dist/Undici.js")) return null
    const names = Object.keys(undici).filter((name) => !["default", "module.exports"].includes(name))
    return `import Undici from "undici"\nexport const { ${names.join(", ")} } = Undici\nexport default Undici`
  }
}

const chunks = "bundle"
await rm(join(root, "dist", chunks), { recursive: true, force: true })

const bundle = await rolldown({
  input: {
    "effect-rl": join(root, "src/start.ts"),
    bin: join(root, "src/bin.ts"),
    thread: join(root, "src/worker/thread.ts")
  },
  platform: "node",
  external,
  resolve: { conditionNames: ["@effect-rl/source", "node", "import", "default"] },
  plugins: [ownUrl, undiciNames]
})
await bundle.write({
  dir: join(root, "dist"),
  format: "esm",
  // Names stay, so that stacks can be read; white space and comments are most of what would be read at each start.
  minify: { mangle: false, compress: false, codegen: { removeWhitespace: true } },
  entryFileNames: "[name].mjs",
  chunkFileNames: `${chunks}/[name]-[hash].mjs`,
  cleanDir: false
})
await chmod(join(root, "dist/effect-rl.mjs"), 0o755)

const { FORCE_COLOR: _, ...plain } = process.env
for (const [file, env] of [["help.txt", plain], ["help.coloured.txt", { ...plain, FORCE_COLOR: "1", NO_COLOR: "" }]]) {
  await writeFile(
    join(root, "dist", file),
    execFileSync(process.execPath, [join(root, "dist/bin.mjs"), "--help"], { env })
  )
}
