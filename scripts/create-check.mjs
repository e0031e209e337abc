// Makes a project from each template in an empty folder, from packed packages; checks its types, trains it, tests it, views its run and serves
// what it trained. The first project is made by `npm create`, from a registry with the packed packages.
import { execFileSync, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, readFileSync } from "node:fs"
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

/** Starts a program, waits until its output matches `end`, does the work with that output, and ends the program. */
const beside = async (command, args, options, end, work) => {
  const program = spawn(command, args, { ...options, detached: true, stdio: ["ignore", "pipe", "inherit"] })
  try {
    let said = ""
    while (!end.test(said)) {
      const [more] = await Promise.race([once(program.stdout, "data"), once(program, "exit").then(() => [undefined])])
      if (more === undefined) throw new Error(`${command} ${args.join(" ")} ended: ${said}`)
      said += String(more)
    }
    return await work(said)
  } finally {
    if (program.exitCode === null && program.signalCode === null) {
      const ended = once(program, "exit")
      process.kill(-program.pid)
      await ended
    }
  }
}

/** `npm create effect-rl` in an empty folder. */
const createByNpm = (tarballs, project) =>
  beside(process.execPath, ["scripts/registry.mjs", tarballs], {}, /\n/, async (said) => {
    mkdirSync(project)
    const env = { ...process.env, npm_config_registry: said.trim(), npm_config_noproxy: "127.0.0.1" }
    const stdio = ["ignore", "ignore", "inherit"]
    const [code] = await once(
      spawn("npm", ["create", "-y", "effect-rl@latest", "."], { cwd: project, env, stdio }),
      "exit"
    )
    if (code !== 0) throw new Error(`npm create effect-rl ended with ${code}`)
  })

/** Runs a script of the project that serves something, until the work is done. */
const whileServing = (project, script, end, work) =>
  beside("npm", ["run", "-s", script, "--", "--port", "0"], { cwd: project }, end, work)

const view = (project) =>
  whileServing(project, "view", /\n/, async (said) => {
    const runs = await (await fetch(new URL("/api/runs", said.trim()))).text()
    if (!runs.includes("task-0")) throw new Error(`npm run view shows ${runs}`)
  })

/** Sends the request that the server prints. */
const askServed = (project) =>
  whileServing(project, "serve", /stop with Ctrl-C/, async (said) => {
    const [, url, body] = /curl -s (\S+) .* -d '(.+)'/.exec(said) ?? []
    const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body })
    const { choices, model } = await response.json()
    if (model !== "runs/task-0" || typeof choices?.[0]?.message.content !== "string") {
      throw new Error(`npm run serve answered ${response.status} as ${model}`)
    }
  })

/** Checks the packed `create-effect-rl`, installed in its own project, with the packages in the folder. */
export const checkCreated = async (tarballs, folder) => {
  const installed = join(folder, "node_modules/create-effect-rl")
  const start = join(installed, "dist/start.mjs")
  checkOldNode(start)
  checkOldNode(join(folder, "node_modules/@effect-rl/cli/dist/effect-rl.mjs"))
  for (const template of ["plain", "agent", "sandbox"]) {
    const name = `my-${template}`
    const project = join(folder, name)
    if (template === "plain") await createByNpm(tarballs, project)
    else {
      execFileSync(process.execPath, [start, name, "--template", template, "--packages", tarballs], {
        cwd: folder,
        stdio: ["ignore", "ignore", "inherit"]
      })
    }
    const npm = (...args) =>
      execFileSync("npm", ["run", "-s", ...args], {
        cwd: project,
        encoding: "utf8",
        stdio: ["ignore", "pipe", "inherit"]
      })
    npm("check")
    const short = ["--iterations", "2", "--groups-per-batch", "2", "--group-size", "4"]
    npm("start", "--", ...short)
    const updated = readFileSync(join(project, "runs/task-0/records.jsonl"), "utf8").match(/"_tag":"Updated"/g)
    if (updated?.length !== 2) throw new Error(`${name} trained ${updated?.length ?? 0} iterations, expected 2`)
    npm("test")
    await view(project)
    await askServed(project)
    console.log(`created, checked, trained, tested, viewed and served: ${name}`)
  }
}
