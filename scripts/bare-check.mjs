// Runs code_rl on a PATH with nothing but Node: no Python, bubblewrap or Docker. Its programs must be judged on WASI.
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const folder = mkdtempSync(join(tmpdir(), "effect-rl-bare-"))
const [bin, home, data, run] = ["bin", "home", "data", "run"].map((name) => join(folder, name))
for (const path of [bin, home, data]) mkdirSync(path)
symlinkSync(process.execPath, join(bin, "node"))

/** Runs the command with only PATH and HOME in the environment, and shows its output. */
const effectRl = (...args) => {
  console.log(`effect-rl ${args.join(" ")}`)
  const options = ["--conditions=@effect-rl/source", "--disable-warning=ExperimentalWarning"]
  execFileSync(join(bin, "node"), [...options, "packages/cli/src/bin.ts", ...args], {
    env: { PATH: bin, HOME: home },
    stdio: "inherit"
  })
}

const problem = (id, text, code, test) =>
  JSON.stringify({ task_id: id, text, code, test_list: [test], test_setup_code: "", challenge_test_list: [] })

writeFileSync(
  join(data, "train.jsonl"),
  problem(601, "Write a function to double a number.", "def double(n):\n  return 2 * n", "assert double(2) == 4")
)
writeFileSync(
  join(data, "test.jsonl"),
  problem(
    11,
    "Write a function to join words.",
    "def join(xs):\n  return '-'.join(xs)",
    "assert join(['a', 'b']) == 'a-b'"
  )
)

effectRl("validate", "code_rl", "--problems", "mbpp", "--data", data)

const small = ["--iterations", "1", "--groups-per-batch", "1", "--group-size", "2", "--eval-every", "0"]
effectRl("train", "code_rl", "--log-path", run, ...small)

const verdicts = readFileSync(join(run, "payloads.jsonl"), "utf8").matchAll(/"verdict":\{"provider":"([^"]*)"/g)
const providers = [...verdicts].map(([, provider]) => provider)
rmSync(folder, { recursive: true })
console.log(`${providers.length} programs were judged in the sandboxes of: ${[...new Set(providers)].join(", ")}`)
if (providers.length === 0 || providers.some((provider) => provider !== "wasi")) {
  console.error("expected at least one program, and only verdicts of wasi")
  process.exitCode = 1
}
