// Compares the embedded engine with torch, transformers, peft and gguf on random models of every shape that it loads, and on
// SmolLM2 where it has been fetched: log-probabilities, logits, ten updates with each loss, the adapter in peft, the merged model in
// transformers, how often tokens are drawn, and the blocks of GGUF files.
//   node scripts/conformance/twin.mjs
// $CONFORMANCE_PYTHON is a Python that has them; where there is none, it says so and ends.
import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** Turns off the libraries' progress bars and advice. */
const env = { ...process.env, HF_HUB_DISABLE_PROGRESS_BARS: "1", TQDM_DISABLE: "1", TRANSFORMERS_VERBOSITY: "error" }

const python = process.env.CONFORMANCE_PYTHON ?? "python3"
const needed = ["torch", "transformers", "peft", "safetensors", "gguf"]
const { status } = spawnSync(python, ["-c", `import ${needed.join(", ")}`], { stdio: "ignore" })
if (status !== 0) {
  console.log(`skipped: ${python} lacks one of ${needed.join(", ")}: install them with pip, or set CONFORMANCE_PYTHON`)
  process.exit(0)
}

/** The losses that the engine computes by name. */
const losses = ["cross_entropy", "importance_sampling", "ppo", "cispo", "dro", "gspo"]

/** Largest allowed difference of log-probabilities, of logits, and of adapter weights after ten updates. */
const limit = 1e-4

/** Largest allowed norm of the differences of all adapter weights, relative to the norm of the updates. */
const normLimit = 1e-3

/** The smallest accepted p-value of draws. Seeds are fixed, so a check does not fail at random. */
const leastChance = 1e-4

const folder = mkdtempSync(join(tmpdir(), "effect-rl-twin-"))
const scripts = "scripts/conformance/twin"
const report = (isNear, text) => {
  console.log(`${isNear ? "ok  " : "FAIL"} ${text}`)
  if (!isNear) process.exitCode = 1
}
try {
  const stdio = ["ignore", "ignore", "inherit"]
  execFileSync(python, [`${scripts}/models.py`, folder, "packages/engine/presets/tiny-64", ...losses], { env, stdio })
  execFileSync(process.execPath, ["--conditions=@effect-rl/source", `${scripts}/engine.ts`, folder], { stdio })
  const { models, types, unequal } = JSON.parse(
    execFileSync(python, [`${scripts}/compare.py`, folder], {
      encoding: "utf8",
      env,
      stdio: ["ignore", "pipe", "inherit"]
    })
  )
  for (const { chance, distances, name, norms } of models) {
    const text = Object.entries(distances).map(([what, distance]) => `${what} ${distance.toExponential(1)}`).join(", ")
    const norm = Math.max(...Object.values(norms))
    const isNear = Math.max(...Object.values(distances)) <= limit && norm <= normLimit && chance >= leastChance
    report(
      isNear,
      `${name}: ${text}, updates ${norm.toExponential(1)} of their norm, draws p = ${chance.toPrecision(2)}`
    )
  }
  report(
    unequal.length === 0,
    `blocks of ${types.join(", ")}: ${unequal.length === 0 ? "equal" : `not ${unequal.join(", ")}`}`
  )
} finally {
  rmSync(folder, { recursive: true })
}
