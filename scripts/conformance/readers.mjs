// Writes runs in every format of `effect-rl export`, opens each with the tool that it is written for, as PyPI has it, and compares what
// the tool reads with what happened: in a run of one turn, in one with calls of a tool, and in one of several turns.
// Virtual environments are kept in $CONFORMANCE_ENVIRONMENTS (default: effect-rl-conformance in the temporary folder). What cannot
// be installed is skipped. With --write the table goes to scripts/conformance/READERS.md.
import { execFileSync, spawn, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { createServer as createSocket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

const environments = process.env.CONFORMANCE_ENVIRONMENTS ?? join(tmpdir(), "effect-rl-conformance")
const base = process.env.CONFORMANCE_PYTHON ?? "python3"
const iterations = 3

/** Settings of runs that take at most a minute on a busy machine. The first run has evaluations, which the readers count. */
const small = ["--groups-per-batch", "6", "--group-size", "4", "--iterations", "2", "--eval-every", "0"]
const trained = [
  {
    name: "sums",
    model: "tiny-64",
    args: ["arithmetic", "--model", "effect-rl/tiny-64", "--iterations", `${iterations}`]
  },
  { name: "tool", model: "tiny-tasks", args: ["calculator", ...small] },
  { name: "turns", model: "tiny-tasks", args: ["guess-number", ...small] }
]

if (spawnSync(base, ["-c", "import venv, ensurepip"], { stdio: "ignore" }).status !== 0) {
  console.log("skipped: python3 with venv absent")
  process.exit(0)
}

/** tinker-cookbook and tinkerscope need torch to train and a service to sample, but neither to find runs. */
const requirements = [
  ["tensorboard"],
  ["trackio"],
  ["inspect_ai"],
  ["pyarrow"],
  ["opentelemetry-proto"],
  ["mlflow"],
  ["verifiers"],
  ["tinker", "blobfile", "python-dotenv", "fastapi", "openai"],
  ["--no-deps", "tinker_cookbook"],
  ["--no-deps", "tinkerscope"]
]

const prepare = () => {
  const folder = join(environments, "readers")
  const python = join(folder, "bin/python")
  if (!existsSync(python)) {
    mkdirSync(environments, { recursive: true })
    execFileSync(base, ["-m", "venv", folder])
    for (const names of requirements) {
      spawnSync(python, ["-m", "pip", "install", "-q", ...names], { stdio: ["ignore", "ignore", "inherit"] })
    }
  }
  return python
}

const effectRl = (...args) =>
  new Promise((resolve, reject) => {
    const command = [
      "--conditions=@effect-rl/source",
      "--disable-warning=ExperimentalWarning",
      "packages/cli/src/bin.ts"
    ]
    const child = spawn(process.execPath, [...command, ...args], { stdio: ["ignore", "ignore", "inherit"] })
    child.on(
      "exit",
      (code) => code === 0 ? resolve() : reject(new Error(`effect-rl ${args.join(" ")} ended with ${code}`))
    )
  })

/** A server that stores what is posted to it, like a collector. */
const collector = (folder) =>
  new Promise((resolve) => {
    mkdirSync(folder)
    let count = 0
    const server = createServer((request, response) => {
      const parts = []
      request.on("data", (part) => parts.push(part))
      request.on("end", () => {
        writeFileSync(join(folder, `${String(count++).padStart(4, "0")}.pb`), Buffer.concat(parts))
        response.writeHead(200, { "content-type": "application/x-protobuf" }).end()
      })
    })
    server.listen(0, "127.0.0.1", () => resolve({ server, url: `http://127.0.0.1:${server.address().port}` }))
  })

const freePort = () =>
  new Promise((resolve) => {
    const socket = createSocket()
    socket.listen(0, "127.0.0.1", () => {
      const { port } = socket.address()
      socket.close(() => resolve(port))
    })
  })

const isUp = (url) => fetch(`${url}/health`).then(({ ok }) => ok, () => false)

/** An MLflow server on loopback; undefined if it is not installed or does not start. */
const startMlflow = async (python, folder) => {
  if (spawnSync(python, ["-c", "import mlflow"], { stdio: "ignore" }).status !== 0) return undefined
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const store = ["--backend-store-uri", `sqlite:///${join(folder, "mlflow.db")}`, "--workers", "1"]
  const child = spawn(python, ["-m", "mlflow", "server", "--host", "127.0.0.1", "--port", String(port), ...store], {
    cwd: folder,
    stdio: "ignore",
    detached: true
  })
  for (let tries = 0; tries < 120; tries++) {
    if (await isUp(url)) return { url, stop: () => process.kill(-child.pid) }
    await new Promise((resolve) => setTimeout(resolve, 1000))
  }
  process.kill(-child.pid)
  return undefined
}

const linesOf = (file) =>
  readFileSync(file, "utf8").split("\n").filter((line) => line !== "").map((line) => JSON.parse(line))

const python = prepare()
const work = mkdtempSync(join(tmpdir(), "effect-rl-readers-"))
const folderOf = (name) => join(work, name)
const run = folderOf("sums")
const out = join(work, "out")
for (const { args, name } of trained) {
  mkdirSync(join(out, name), { recursive: true })
  await effectRl("train", ...args, "--log-path", folderOf(name))
}

/** Readers that compare all runs. The other readers read only the first run. */
const everyRun = { inspect: "inspect", cookbook: "cookbook", verifiers: "traces.jsonl", chat: "chat.jsonl" }
const firstRun = { tensorboard: "tensorboard", parquet: "rollouts.parquet", perfetto: "perfetto.json" }
for (const { name } of trained) {
  for (const [format, file] of Object.entries({ ...everyRun, ...(name === "sums" && firstRun) })) {
    await effectRl("export", folderOf(name), join(out, name, file), "--format", format)
  }
  await effectRl("export", folderOf(name), join(out, "trackio"), "--format", "trackio")
}
const { server, url } = await collector(join(out, "otlp"))
await effectRl("export", run, url, "--format", "otlp")
server.close()
const mlflow = await startMlflow(python, work)
if (mlflow !== undefined) await effectRl("export", run, mlflow.url, "--format", "mlflow")

const records = linesOf(join(run, "records.jsonl"))
const tagged = (tag) => records.filter(({ _tag }) => _tag === tag)
const expected = {
  run: "sums",
  model: "effect-rl/tiny-64",
  models: Object.fromEntries(trained.map(({ model, name }) => [name, `effect-rl/${model}`])),
  runs: trained.map(({ model, name }) => ({
    name,
    folder: folderOf(name),
    tokenizer: `packages/engine/presets/${model}/tokenizer.json`
  })),
  iterations,
  rewards: tagged("Updated").map(({ metrics }) => metrics["env/all/reward/total"]),
  evaluations: tagged("Evaluated").length,
  checkpoints: tagged("Saved").length,
  rollouts: tagged("GroupRolledOut").flatMap(({ members }) => members).length,
  mlflow: mlflow?.url ?? null
}
const { stdout } = spawnSync(python, ["scripts/conformance/readers.py", out, JSON.stringify(expected)], {
  encoding: "utf8",
  stdio: ["ignore", "pipe", "inherit"],
  maxBuffer: 1e8
})
mlflow?.stop()
rmSync(work, { recursive: true, force: true })

const results = stdout.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line))
const table = [
  "| reader | outcome |",
  "| --- | --- |",
  ...results.map(({ error, name, outcome }) => `| ${name} | ${outcome}${error === null ? "" : `: ${error}`} |`)
].join("\n")
console.log(table)
if (process.argv.includes("--write")) {
  const versions = execFileSync(python, ["-m", "pip", "freeze"], { encoding: "utf8" }).split("\n").filter((line) =>
    /^(tensorboard|trackio|inspect_ai|pyarrow|opentelemetry-proto|mlflow|verifiers|tinker_cookbook|tinkerscope)==/.test(
      line
    )
  )
  const date = new Date().toISOString().slice(0, 10)
  writeFileSync(
    "scripts/conformance/READERS.md",
    `# What others' tools read of an exported run\n\nRun on ${date} by \`npm run conformance:readers -- --write\`: ` +
      `${versions.join(", ")}.\nThe tools are as PyPI has them.\n\n${table}\n`
  )
}
process.exit(results.length === 0 || results.some(({ outcome }) => outcome === "failed") ? 1 : 0)
