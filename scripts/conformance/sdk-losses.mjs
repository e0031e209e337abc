// Trains the engine with custom losses that the official SDK traces: once as graphs that our server computes, once in the SDK's own two
// passes, and compares the gradients.
//   npm run conformance:sdk-losses      writes SDK_LOSSES.md beside this script
// Needs a Python with torch; $CONFORMANCE_PYTHON names it. tinker comes from PyPI.
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { hasTorch, prepare, versions } from "./environment.mjs"
import { serve } from "./serve.mjs"

const skip = (why) => {
  console.log(`skipped: ${why}`)
  process.exit(0)
}

if (!hasTorch) skip("no Python with torch and venv (Debian: python3-torch, python3-venv)")
const python = prepare("latest", ["tinker"])
if (python === undefined) skip("tinker cannot be installed from PyPI")

const bound = 1e-5
const model = "effect-rl/tiny-64"
const folder = mkdtempSync(join(tmpdir(), "sdk-losses-"))
const { stop, url } = await serve(folder)
const { status, stdout } = spawnSync(python, ["scripts/conformance/sdk_losses_check.py"], {
  env: { ...process.env, TINKER_BASE_URL: url, TINKER_API_KEY: "tml-local", CONFORMANCE_MODEL: model },
  stdio: ["ignore", "pipe", "inherit"],
  encoding: "utf8"
})
await stop()
rmSync(folder, { recursive: true, force: true })
const lines = stdout.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line))
const compared = lines.filter(({ loss }) => loss !== undefined)
const untraced = lines.filter((line) => line.untraced !== undefined)

const row = (cells) => `| ${cells.join(" | ")} |`
const table = (head, rows) => [row(head), row(head.map(() => "---")), ...rows.map(row)].join("\n")
const small = (value) => value.toExponential(1)
const losses = table(
  ["loss", "operations", "gradient", "metrics", "first loss", "after 8 steps"],
  compared.map(({ first, gradient, last, loss, metrics, nodes }) => [
    `\`${loss}\``,
    nodes,
    small(gradient),
    small(metrics),
    first.toFixed(4),
    last.toFixed(4)
  ])
)
const traced = untraced.filter(({ error }) => error === null).map((line) => line.untraced)
console.log(losses)
for (const description of traced) console.error(`traced, although it was not before: ${description}`)

const page = `# Custom losses of the official SDK against \`effect-rl serve --backend engine\`

Run on ${new Date().toISOString().slice(0, 10)} by \`npm run conformance:sdk-losses\`: ${
  versions(python, ["tinker", "torch"])
}, ${model}.

Each loss is a Python function that \`ServiceClient.create_custom_loss\` traces and our server computes in one pass. The same handle without
the server's id runs in the SDK's own two passes: forward, the loss and its gradient with torch, backward with that gradient as weights.
Gradients are of all adapter weights, read from a step of Adam whose \`eps\` is so large that it subtracts a multiple of the gradient;
\`gradient\` is the largest difference between the two ways relative to the largest entry, and ${bound} is the bound. \`metrics\` compares
the loss and its own metrics. Then the loss trains for eight steps with a learning rate of 1e-3; losses that stop gradients on purpose need not
fall.

${losses}

What the SDK does not trace, and refuses before anything is sent:

${untraced.map(({ untraced }) => `- ${untraced}`).join("\n")}

A loss whose \`logprobs\` have rank 2 (several targets per position) is traced, and refused by our server.
`
if (compared.length > 0) writeFileSync("scripts/conformance/SDK_LOSSES.md", page)
const isNear = compared.length >= 12 &&
  compared.every(({ first, gradient, last, metrics }) => gradient <= bound && metrics <= bound && first !== last)
process.exit(status === 0 && isNear && traced.length === 0 ? 0 : 1)
