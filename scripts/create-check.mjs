// Makes a project from each template in an empty folder, from packed packages; checks its types, tests it, trains it and serves what it trained.
import { execFileSync, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { join } from "node:path"

const pretended = "20.11.1"

/** Checks that an outdated Node gives one line without a stack trace. */
const checkOldNode = (command) => {
  const pretend = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${pretended}" } })`
  const args = ["--import", `data:text/javascript,${encodeURIComponent(pretend)}`, command, "x"]
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" })
  const isOneLine = /^effect-rl needs Node 22\.19\S* or newer, and this is Node 20\.11\.1: https:\/\/nodejs\.org\n$/
  if (status !== 1 || !isOneLine.test(stderr)) throw new Error(`${command} on Node ${pretended}: ${status}: ${stderr}`)
}

/** Serves the trained weights as the project does, and sends the request that the server prints. */
const askServed = async (project) => {
  const server = spawn(join(project, "node_modules/.bin/effect-rl"), [
    "serve",
    "--checkpoint",
    "runs/task-0",
    "--port",
    "0"
  ], { cwd: project, stdio: ["ignore", "pipe", "inherit"] })
  try {
    let said = ""
    while (!said.includes("stop with Ctrl-C")) said += String((await once(server.stdout, "data"))[0])
    const [, url, body] = /curl -s (\S+) .* -d '(.+)'/.exec(said) ?? []
    const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body })
    const { choices, model } = await response.json()
    if (model !== "runs/task-0" || typeof choices?.[0]?.message.content !== "string") {
      throw new Error(`effect-rl serve answered ${response.status} as ${model}`)
    }
  } finally {
    server.kill()
  }
}

/** Checks the packed `create-effect-rl`, installed in its own project, with the packages in the folder. */
export const checkCreated = async (tarballs, folder) => {
  const installed = join(folder, "node_modules/create-effect-rl")
  const start = join(installed, "dist/start.mjs")
  checkOldNode(start)
  checkOldNode(join(folder, "node_modules/@effect-rl/cli/dist/effect-rl.mjs"))
  for (const template of ["plain", "agent", "sandbox"]) {
    const name = `my-${template}`
    const project = join(folder, name)
    execFileSync(process.execPath, [start, name, "--template", template, "--packages", tarballs], {
      cwd: folder,
      stdio: ["ignore", "ignore", "inherit"]
    })
    const npm = (...args) =>
      execFileSync("npm", ["run", "-s", ...args], {
        cwd: project,
        encoding: "utf8",
        stdio: ["ignore", "pipe", "inherit"]
      })
    npm("check")
    npm("test")
    const short = ["--iterations", "2", "--groups-per-batch", "2", "--group-size", "4"]
    npm("start", "--", ...short)
    const updated = readFileSync(join(project, "runs/task-0/records.jsonl"), "utf8").match(/"_tag":"Updated"/g)
    if (updated?.length !== 2) throw new Error(`${name} trained ${updated?.length ?? 0} iterations, expected 2`)
    await askServed(project)
    console.log(`created, checked, tested, trained and served: ${name}`)
  }
}
