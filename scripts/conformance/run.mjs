// Runs the unmodified official Python SDK against our server. Without arguments it runs all versions and writes the table.
//   node scripts/conformance/run.mjs [version …]      versions of the SDK on PyPI; "latest" is the newest
// Where Python sees a torch (Debian: python3-torch), custom losses are checked as well. $CONFORMANCE_PYTHON is the Python to use.
import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { base, prepare } from "./environment.mjs"
import { serve } from "./serve.mjs"

const chosen = process.argv.slice(2)
const usual = ["latest", "0.30.4", "0.22.7", "0.16.1"]
const versions = chosen.length > 0 ? chosen : usual
const model = "effect-rl/tiny-64"

if (base === undefined) {
  console.log("skipped: python3 with venv absent")
  process.exit(0)
}

const check = (python, url) => {
  const env = { ...process.env, TINKER_BASE_URL: url, TINKER_API_KEY: "tml-local", CONFORMANCE_MODEL: model }
  const { stdout } = spawnSync(python, ["scripts/conformance/conformance.py"], {
    env,
    encoding: "utf8",
    timeout: 600_000
  })
  return stdout.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line))
}

const installed = (version) => {
  const name = version === "latest" ? "tinker" : `tinker==${version}`
  const python = prepare(version, [name])
  if (python !== undefined) return { version, python }
  console.log(`skipped: ${name} cannot be installed from PyPI`)
  process.exit(0)
}

const prepared = versions.map(installed)

/** The fields of the newest SDK's requests. A test compares the requests of certificates with them. */
const requestsFile = "packages/tinker/test/certify/SdkRequests.json"
const requestsAreKnown = prepared.filter(({ version }) => version === "latest").every(({ python }) => {
  const found = execFileSync(python, ["scripts/conformance/requests.py"], { encoding: "utf8" })
  const isKnown = found === readFileSync(requestsFile, "utf8")
  if (!isKnown) {
    writeFileSync(requestsFile, found)
    console.error(`${requestsFile} was rewritten: the newest SDK sends other fields. Run Requests.slow.test.ts.`)
  }
  return isKnown
})
const checkpoints = mkdtempSync(join(tmpdir(), "conformance-checkpoints-"))
const { stop, url } = await serve(checkpoints)
const program = ["--conditions=@effect-rl/source", "scripts/conformance/written.ts", url, model]
execFileSync(process.execPath, program, { stdio: "inherit" })
const results = prepared.map(({ python, version }) => {
  const [head, ...checks] = check(python, url)
  return { sdk: head?.sdk ?? `${version} did not start`, checks }
})
await stop()
rmSync(checkpoints, { recursive: true, force: true })

const names = [...new Set(results.flatMap(({ checks }) => checks.map(({ name }) => name)))]
const outcome = ({ checks }, name) => checks.find((one) => one.name === name)?.outcome ?? "not reached"
const row = (cells) => `| ${cells.join(" | ")} |`
const table = [
  row(["check", ...results.map(({ sdk }) => `tinker ${sdk}`)]),
  row(["---", ...results.map(() => "---")]),
  ...names.map((name) => row([name, ...results.map((result) => outcome(result, name))]))
].join("\n")
console.log(table)

const failures = results.flatMap(({ checks, sdk }) =>
  checks.filter(({ outcome }) => outcome === "failed").map((one) => ({ sdk, ...one }))
)
for (const { error, name, sdk, trace } of failures) console.error(`\ntinker ${sdk}: ${name}: ${error}\n${trace}`)

const page = (python) =>
  `# The official Python SDK against \`effect-rl serve --backend engine\`

Run on ${
    new Date().toISOString().slice(0, 10)
  } by \`npm run conformance\`: ${python}, Node ${process.version}, ${model}.
The SDK is as PyPI has it.

${table}
`
if (chosen.length === 0) {
  const python = execFileSync(base, ["--version"], { encoding: "utf8" }).trim()
  writeFileSync("scripts/conformance/RESULTS.md", page(python))
}
const isComplete = names.length > 0 && results.every(({ checks }) => checks.length === names.length)
process.exit(failures.length === 0 && isComplete && requestsAreKnown ? 0 : 1)
