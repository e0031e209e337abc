/** Compiles assembly/ to src/numerics/KernelsWasm.gen.ts. With `--check`, fails if the committed bytes differ. */
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Tiles from "./kernels/Tiles.ts"

const root = fileURLToPath(new URL("..", import.meta.url))
const tilesPath = join(root, "assembly/tiles.gen.ts")
const modulePath = join(root, "src/numerics/KernelsWasm.gen.ts")
const check = process.argv.includes("--check")

const flags = [
  "-O3 --noAssert --runtime stub --memoryBase 64 --importMemory --sharedMemory --initialMemory 16 --maximumMemory 65536",
  "--enable simd --enable relaxed-simd --enable threads --enable bulk-memory"
].flatMap((line) => line.split(" "))

const compile = (): Buffer => {
  const folder = mkdtempSync(join(tmpdir(), "kernels-"))
  const out = join(folder, "kernels.wasm")
  const asc = join(dirname(createRequire(import.meta.url).resolve("assemblyscript/package.json")), "bin/asc.js")
  execFileSync(process.execPath, [asc, "assembly/index.ts", "-o", out, ...flags], { cwd: root, stdio: "inherit" })
  const bytes = readFileSync(out)
  rmSync(folder, { recursive: true })
  return bytes
}

const moduleText = (bytes: Buffer): string => {
  const chunks = bytes.toString("base64").match(/.{1,100}/g) ?? []
  return [
    "// Compiled from assembly/ by scripts/build-kernels.ts.",
    `export const base64 = [\n${chunks.map((chunk) => `  "${chunk}"`).join(",\n")}\n].join("")`,
    ""
  ].join("\n")
}

const settle = (path: string, text: string): void => {
  if (!check) return writeFileSync(path, text)
  if (readFileSync(path, "utf8") === text) return
  console.error(`${path} is not what its sources give: run npm run kernels -w packages/engine and commit the result`)
  process.exitCode = 1
}

settle(tilesPath, Tiles.source())
const bytes = compile()
settle(modulePath, moduleText(bytes))
console.log(`kernels: ${bytes.length} bytes`)
