// Compares the embedded engine with torch, transformers, peft and gguf on random models of every shape that it loads, and on
// SmolLM2 where it has been fetched: log-probabilities, ten updates, the adapter in peft and the merged model in transformers.
//   node scripts/conformance/twin.mjs
// $CONFORMANCE_PYTHON is a Python that has them; where there is none, it says so and ends.
import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** Progress bars and advice of the libraries are left out. */
const env = { ...process.env, HF_HUB_DISABLE_PROGRESS_BARS: "1", TQDM_DISABLE: "1", TRANSFORMERS_VERBOSITY: "error" }

const python = process.env.CONFORMANCE_PYTHON ?? "python3"
const needed = ["torch", "transformers", "peft", "safetensors", "gguf"]
const { status } = spawnSync(python, ["-c", `import ${needed.join(", ")}`], { stdio: "ignore" })
if (status !== 0) {
  console.log(`skipped: ${python} has not all of ${needed.join(", ")}: pip install them, or set CONFORMANCE_PYTHON`)
  process.exit(0)
}

/** Largest differences: of log-probabilities, and of adapter weights after ten updates. */
const limits = { base: 1e-4, adapter: 1e-4, merged: 1e-4, weights: 1e-4 }

const folder = mkdtempSync(join(tmpdir(), "effect-rl-twin-"))
const script = "scripts/conformance/twin/twin.py"
try {
  execFileSync(python, [script, "make", folder, "packages/engine/presets/tiny-64"], {
    env,
    stdio: ["ignore", "ignore", "inherit"]
  })
  const node = ["--conditions=@effect-rl/source", "scripts/conformance/twin/engine.ts", folder]
  execFileSync(process.execPath, node, { stdio: ["ignore", "ignore", "inherit"] })
  const rows = JSON.parse(
    execFileSync(python, [script, "compare", folder], { encoding: "utf8", env, stdio: ["ignore", "pipe", "inherit"] })
  )
  for (const { name, ...distances } of rows) {
    const text = Object.entries(distances).map(([what, distance]) => `${what} ${distance.toExponential(1)}`).join(", ")
    const isNear = Object.entries(distances).every(([what, distance]) => distance <= limits[what])
    console.log(`${isNear ? "ok  " : "FAIL"} ${name}: ${text}`)
    if (!isNear) process.exitCode = 1
  }
} finally {
  rmSync(folder, { recursive: true })
}
