// Our server as a process of its own, which is stopped as a person would stop it.
import { spawn } from "node:child_process"

/** @returns {Promise<{ url: string, stop: () => Promise<void> }>} */
export const serve = (checkpoints, flags = []) =>
  new Promise((resolve, reject) => {
    const command = ["--conditions=@effect-rl/source", "packages/cli/src/bin.ts", "serve", "--backend", "engine"]
    const child = spawn(process.execPath, [...command, "--port", "0", "--checkpoints", checkpoints, ...flags], {
      stdio: ["ignore", "pipe", "inherit"]
    })
    let text = ""
    const stop = () =>
      new Promise((stopped) => {
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
