/** Runs test programs with this machine's own Python, without isolation. */
import { Outcome, Sandbox } from "@effect-rl/sandbox"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** Folders of the system's Python. A version manager's Python starts more slowly. */
const env = { PATH: "/usr/bin:/bin:/usr/local/bin" }

export const isThere = spawnSync("python3", ["--version"], { env }).status === 0

export const layer = Sandbox.Sandbox.layerScripted({
  run: ({ command: { argv: [program, ...rest], stdin }, files, spec: { environment, limits } }) =>
    Effect.sync(() => {
      const folder = mkdtempSync(join(tmpdir(), "host-python-"))
      for (const [path, bytes] of files) writeFileSync(join(folder, path), bytes)
      const { error, signal, status, stderr, stdout } = spawnSync(program, rest, {
        cwd: folder,
        env: { ...env, ...environment },
        input: stdin ?? "",
        timeout: limits.wallMillis,
        killSignal: "SIGKILL",
        maxBuffer: limits.output
      })
      rmSync(folder, { recursive: true })
      const ended = { stdout, stderr, wallMillis: 0 }
      if (error !== undefined) return Outcome.TimedOut({ ...ended, limit: "wall" })
      return status === null
        ? Outcome.Signalled({ ...ended, signal: String(signal) })
        : Outcome.Exited({ ...ended, code: status })
    })
})
