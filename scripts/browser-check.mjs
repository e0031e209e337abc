// Bundles the core and the Tinker client for a browser, and fails if a bundle imports a Node module.
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { rolldown } from "rolldown"

const programs = {
  core: `export * from "@effect-rl/core"`,
  "core and the Tinker client": `export * from "@effect-rl/core"
export { RestClient, SamplerHandles, TinkerHttp } from "@effect-rl/tinker"`
}

const entry = "entry"

/** The program as a module inside this repository. */
const given = (program) => ({
  name: "given",
  resolveId(id, importer) {
    if (id === entry) return entry
    return importer === entry ? this.resolve(id, join(process.cwd(), "packages/cli/src/index.ts")) : undefined
  },
  load: (id) => id === entry ? program : undefined
})

for (const [name, program] of Object.entries(programs)) {
  const bundle = await rolldown({
    input: entry,
    platform: "browser",
    external: [/^node:/],
    resolve: { conditionNames: ["@effect-rl/source", "browser", "import", "default"] },
    plugins: [given(program)]
  })
  const { output } = await bundle.generate({ format: "esm", minify: true })
  const imports = output.flatMap(({ dynamicImports = [], imports = [] }) => [...imports, ...dynamicImports])
  if (imports.length > 0) {
    console.error(`${name}: a bundle for browsers imports ${[...new Set(imports)].join(", ")}`)
    process.exitCode = 1
  }
  const bytes = output.reduce((sum, { code = "" }) => sum + gzipSync(code).length, 0)
  console.log(`${name}: ${Math.round(bytes / 1000)} kB gzipped for a browser`)
}
