// Writes src/wire/gen/TinkerPublic.gen.ts from proto/tinker_public.proto; with --check says whether it is up to date.
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const home = fileURLToPath(new URL("..", import.meta.url))
const target = join(home, "src/wire/gen/TinkerPublic.gen.ts")
const out = mkdtempSync(join(tmpdir(), "proto-"))

const template = JSON.stringify({
  version: "v2",
  plugins: [{
    local: "protoc-gen-es",
    out,
    opt: ["target=ts", "import_extension=ts", "erasable_syntax=true", "elide_plugin_version=true"]
  }]
})

const { status } = spawnSync("buf", ["generate", "proto", "--template", template], { cwd: home, stdio: "inherit" })
if (status !== 0) process.exit(1)

const generated = readFileSync(join(out, "tinker_public_pb.ts"), "utf8")
rmSync(out, { recursive: true })

if (!process.argv.includes("--check")) writeFileSync(target, generated)
else if (readFileSync(target, "utf8") !== generated) {
  console.error("src/wire/gen/TinkerPublic.gen.ts differs from the .proto: run npm run proto -w packages/tinker")
  process.exit(1)
}
