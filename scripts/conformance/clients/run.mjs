// Talks to our chat endpoints with the official clients of OpenAI and Anthropic and with the `ai` SDK, as npm and PyPI have them. What
// cannot be installed is skipped. With --write the table goes to scripts/conformance/CLIENTS.md. Clients are kept in
// $CONFORMANCE_ENVIRONMENTS (default: effect-rl-conformance in the temporary folder).
import { execFile } from "node:child_process"
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { begin, serve } from "../serve.mjs"

const environments = process.env.CONFORMANCE_ENVIRONMENTS ?? join(tmpdir(), "effect-rl-conformance")
const folder = join(environments, "clients")
const packages = ["openai", "@anthropic-ai/sdk", "ai", "@ai-sdk/openai", "@ai-sdk/openai-compatible"]
const key = "tml-local"
const run = promisify(execFile)

/** Time in milliseconds after which a registry counts as unreachable. */
const installing = 300_000

/** npm chooses package versions for the Node that runs it, so this Node comes first. */
const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` }

const skipped = (what) => (error) => {
  console.log(`skipped: ${what}: ${String(error.stderr || error.message).trim().split("\n").at(-1)}`)
  return undefined
}

const prepareNode = async () => {
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }))
  const install = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--no-save", "--fetch-retries=0"]
  await run("npm", [...install, ...packages.map((name) => `${name}@latest`)], { cwd: folder, env, timeout: installing })
  copyFileSync("scripts/conformance/clients/checks.mjs", join(folder, "checks.mjs"))
  return [process.execPath, join(folder, "checks.mjs")]
}

const preparePython = async () => {
  const python = join(folder, "python/bin/python")
  const base = process.env.CONFORMANCE_PYTHON ?? "python3"
  if (!existsSync(python)) await run(base, ["-m", "venv", join(folder, "python")])
  const pip = [
    "-m",
    "pip",
    "install",
    "-q",
    "--disable-pip-version-check",
    "--retries",
    "0",
    "--upgrade",
    "openai",
    "anthropic"
  ]
  await run(python, pip, { timeout: installing })
  return [python, "scripts/conformance/clients/checks.py"]
}

const check = (servers) => async ([command, script]) => {
  const cwd = command === process.execPath ? folder : process.cwd()
  const CLIENTS = JSON.stringify({ ...servers, key })
  const { stdout } = await run(command, [script], { cwd, env: { ...env, CLIENTS }, timeout: 60_000 })
  return stdout.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line))
}

mkdirSync(folder, { recursive: true })
const prepared = await Promise.all([
  prepareNode().catch(skipped("the clients from npm")),
  preparePython().catch(skipped("the clients from PyPI"))
])
const commands = prepared.filter((command) => command !== undefined)
if (commands.length === 0) process.exit(0)

process.env.EFFECT_RL_SERVE_KEYS = key
const checkpoints = mkdtempSync(join(tmpdir(), "effect-rl-clients-"))
const [engine, scripted] = await Promise.all([
  serve(checkpoints),
  begin(["scripts/conformance/clients/scripted.mjs", checkpoints])
])
const servers = {
  engine: { url: engine.url, model: "effect-rl/tiny-64" },
  scripted: { url: scripted.url, model: "Qwen/Qwen3-4B-Instruct-2507" }
}
const stop = async () => {
  await Promise.all([engine.stop(), scripted.stop()])
  rmSync(checkpoints, { recursive: true, force: true })
}
const results = (await Promise.all(commands.map(check(servers))).finally(stop)).flat()

const clients = [...new Set(results.map(({ client }) => client))]
const rows = clients.flatMap((client) =>
  results.filter((one) => one.client === client).map(({ check, error }) =>
    `| ${client} | ${check} | ${error === null ? "passed" : "failed"} |`
  )
)
const table = ["| client | check | outcome |", "| --- | --- | --- |", ...rows].join("\n")
console.log(table)
const failures = results.filter(({ error }) => error !== null)
for (const { check, client, error } of failures) console.error(`\n${client}: ${check}: ${error}`)

if (process.argv.includes("--write")) {
  const date = new Date().toISOString().slice(0, 10)
  writeFileSync(
    "scripts/conformance/CLIENTS.md",
    `# Official chat clients against our server\n\nRun on ${date} by \`npm run conformance:clients -- --write\`: Node ` +
      `${process.version}. The clients are as npm and PyPI have them. They talk to\n\`effect-rl serve\` with effect-rl/tiny-64; ` +
      `stops, tools and whole texts are checked against a server whose model says what it is told.\n\n${table}\n`
  )
}
process.exit(failures.length === 0 ? 0 : 1)
