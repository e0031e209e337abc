// Runs the shell commands of the READMEs in an empty folder, from packed packages. Each command is run, named as skipped, or an error.
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs"
import { delimiter, join } from "node:path"

/** Commands that are not run here, by their beginning, with the reason. The first match counts. */
const skipped = [
  ["npm ci && npm start", "the step \"main job\" runs it"],
  ["npm ci && npm test", "the step \"tests\" runs it"],
  ["npm run create -- ../my-task", "a project of each template is created by this check"],
  ["cd ../my-task && npm start", "each created project is trained by this check"],
  ["npm create effect-rl@latest", "a project is created so, from a registry of this machine"],
  ["TINKER_API_KEY=", "needs a service"],
  ["effect-rl eval math500 --backend tinker", "needs a key of the hosted service"],
  ["npm run effect-rl -- serve", "the installed command is served instead"],
  ["effect-rl eval gsm8k", "needs the files of GSM8K"],
  ["export TINKER_BASE_URL=", "sets variables in the reader's own shell"],
  ["python packages/files/", "needs Python with tokenizers"],
  ["EFFECT_RL_TOKENIZERS=", "needs downloaded tokenizers"],
  ["python3 -m venv", "needs Python with PyTorch"]
]

/** Flags that shorten commands which train. */
const short = "--groups-per-batch 2 --group-size 2 --max-tokens 8 --eval-every 0"

/** Input for commands that ask questions. */
const typed = "7\n".repeat(40)

const isServer = (command) => /^effect-rl (view|serve)\b/.test(command)

/** The command, changed to end soon and to need no fixed port. */
const shortened = (command) =>
  command.startsWith("effect-rl train ") && !command.includes("--plan")
    ? `${command.replace("--iterations 50", "--iterations 3")} ${short}${
      command.includes("--iterations") ? "" : " --iterations 2"
    }`
    : command.replace("--port 8000", "--port 0")

/** The commands in the shell blocks of a README, without their comments. */
const commandsOf = (file) =>
  [...readFileSync(file, "utf8").matchAll(/^```sh\n(.*?)^```/gms)].flatMap(([, block]) =>
    block.split("\n").map((line) => line.replace(/\s+#.*$/, "").trim()).filter((line) => line !== "")
  )

/** Starts a serving command, and stops it once it has printed its address. */
const serve = async (command, options) => {
  const server = spawn("bash", ["-c", `exec ${command}`], { ...options, stdio: ["ignore", "pipe", "inherit"] })
  try {
    let said = ""
    while (!/http:\/\/127\.0\.0\.1:\d+/.test(said)) {
      const [event] = await Promise.race([once(server.stdout, "data"), once(server, "exit").then(() => [undefined])])
      if (event === undefined) throw new Error(`${command} ended before it printed its address`)
      said += String(event)
    }
  } finally {
    const ended = server.exitCode === null && server.signalCode === null ? once(server, "exit") : undefined
    server.kill()
    await ended
  }
}

/** Runs the commands of the READMEs, with the packages in the folder `tarballs`, in a new project in the folder. */
export const checkReadmes = async (tarballs, folder) => {
  const project = join(folder, "my-app")
  mkdirSync(project)
  mkdirSync(join(folder, "effect-rl"))
  symlinkSync(tarballs, join(folder, "effect-rl/tarballs"))
  const path = `${join(project, "node_modules/.bin")}${delimiter}${process.env["PATH"]}`
  const options = { cwd: project, env: { ...process.env, PATH: path } }
  const files = ["README.md", ...readdirSync("packages").map((name) => `packages/${name}/README.md`)]
  for (const command of new Set(files.flatMap(commandsOf))) {
    const [, reason] = skipped.find(([start]) => command.startsWith(start)) ?? []
    if (reason !== undefined) {
      console.log(`skipped: ${command}: ${reason}`)
      continue
    }
    const began = performance.now()
    const run = shortened(command)
    const input = command.startsWith("effect-rl play ") ? typed : ""
    if (isServer(run)) await serve(run, options)
    else execFileSync("bash", ["-c", run], { ...options, input, stdio: ["pipe", "pipe", "inherit"] })
    console.log(`ran: ${run}, ${((performance.now() - began) / 1000).toFixed(1)} s`)
  }
}
