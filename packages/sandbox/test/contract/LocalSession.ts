/** Sessions with the AI SDK's interface that use processes and a folder of this machine. */
import { type AiSdkSession } from "@effect-rl/sandbox"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { Readable } from "node:stream"

/** The number of open sessions, for tests that sessions are closed. */
export const counts = { open: 0 }

const killGroup = (pid: number | undefined) => {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL")
  } catch {
    // It has ended.
  }
}

const session: AiSdkSession.Session = {
  readBinaryFile: ({ path }) => existsSync(path) ? readFile(path) : Promise.resolve(null),
  writeBinaryFile: async ({ content, path }) => {
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, content)
  },
  spawn: ({ command, env, workingDirectory }) => {
    const child = spawn("sh", ["-c", command], {
      cwd: workingDirectory,
      env: { PATH: "/usr/local/bin:/usr/bin:/bin", ...env },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"]
    })
    const exit = once(child, "exit").then(([code, signal]: ReadonlyArray<unknown>) => {
      killGroup(child.pid)
      return { exitCode: typeof code === "number" ? code : signal === "SIGKILL" ? 137 : 1 }
    })
    return Promise.resolve({
      stdout: Readable.toWeb(child.stdout),
      stderr: Readable.toWeb(child.stderr),
      wait: () => exit,
      kill: () => Promise.resolve(killGroup(child.pid))
    })
  }
}

/** Opens a session in a new folder. */
export const open = (): Promise<AiSdkSession.Opened> => {
  const folder = mkdtempSync(join(tmpdir(), "effect-rl-session-"))
  counts.open++
  return Promise.resolve({
    session,
    folder,
    close: () => {
      counts.open--
      rmSync(folder, { recursive: true, force: true })
      return Promise.resolve()
    }
  })
}
