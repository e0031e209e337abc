// Bundles the command with all that it imports, so that `npm create` downloads one small package.
import { globSync, rmSync } from "node:fs"
import { chmod } from "node:fs/promises"
import { join } from "node:path"
import { rolldown } from "rolldown"

const root = join(import.meta.dirname, "..")
const dist = join(root, "dist")
for (const old of globSync(join(dist, "*.mjs"))) rmSync(old)

const bundle = await rolldown({
  input: { start: join(root, "src/start.ts") },
  platform: "node",
  resolve: { conditionNames: ["node", "import", "default"] }
})
await bundle.write({
  dir: dist,
  format: "esm",
  minify: { mangle: false, compress: false, codegen: { removeWhitespace: true } },
  entryFileNames: "[name].mjs",
  chunkFileNames: "[name]-[hash].mjs",
  cleanDir: false
})
await chmod(join(dist, "start.mjs"), 0o755)
