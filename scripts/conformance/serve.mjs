// Runs our server in a separate process, and stops it with the signal of Ctrl-C.
import { spawn } from "node:child_process"

/**
 * Starts a program that prints the address at which it serves.
 *
 * @returns {Promise<{ url: string, stop: () => Promise<void> }>}
 */
export const begin = (program) =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--conditions=@effect-rl/source", ...program], {
      stdio: ["ignore", "pipe", "inherit"]
    })
    let text = ""
    const stop = () =>
      new Promise((stopped) => {
        if (child.exitCode !== null) return stopped()
        child.removeAllListeners("exit")
        child.once("exit", stopped)
        child.kill("SIGINT")
      })
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}: ${text}`)))
    child.stdout.on("data", (data) => {
      text += data
      const url = /at (http:\S+)/.exec(text)?.[1]
      if (url !== undefined) resolve({ url, stop })
    })
  })

const command = ["packages/cli/src/bin.ts", "serve", "--backend", "engine", "--port", "0"]

export const serve = (checkpoints, flags = []) => begin([...command, "--checkpoints", checkpoints, ...flags])
