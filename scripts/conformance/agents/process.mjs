// Runs third-party programs, each in its own process group, which is killed at its end.
import { spawn } from "node:child_process"

/** Runs a program to its end, or kills it after `timeout` milliseconds. */
export const run = ([program, ...args], { cwd, env, stdin = "", timeout }) =>
  new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env, detached: true, stdio: ["pipe", "pipe", "pipe"] })
    const output = { stdout: "", stderr: "" }
    let timedOut = false
    const kill = () => {
      try {
        process.kill(-child.pid, "SIGKILL")
      } catch {}
    }
    const timer = setTimeout(() => {
      timedOut = true
      kill()
    }, timeout)
    for (const name of ["stdout", "stderr"]) child[name].on("data", (data) => output[name] += data)
    child.once("error", reject)
    child.once("exit", (code) => {
      clearTimeout(timer)
      kill()
      const ended = () => resolve({ ...output, code, timedOut })
      child.once("close", ended)
      // Processes that it left in other groups may keep its output open.
      setTimeout(ended, 5000).unref()
    })
    child.stdin.on("error", () => {})
    child.stdin.end(stdin)
  })
