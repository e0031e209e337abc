/**
 * Sessions with the AI SDK's interface that behave like separate machines. They run in bubblewrap and keep all files in one local folder.
 */
import { type AiSdkSession } from "@effect-rl/sandbox"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs"
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { Readable } from "node:stream"

/** The home folder of the session's user. */
const home = "/home/user"

const confinement = (machine: string) =>
  [
    ["--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000", "--die-with-parent", "--new-session"],
    ["--bind", machine, "/", "--ro-bind", "/usr", "/usr", "--ro-bind-try", "/etc/alternatives", "/etc/alternatives"],
    ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--clearenv", "--setenv", "PATH", "/usr/bin:/bin"]
  ].flat()

const sessionOf = (machine: string): AiSdkSession.Session => ({
  readBinaryFile: ({ path }) => existsSync(join(machine, path)) ? readFile(join(machine, path)) : Promise.resolve(null),
  writeBinaryFile: async ({ content, path }) => {
    await mkdir(dirname(join(machine, path)), { recursive: true })
    await writeFile(join(machine, path), content)
  },
  spawn: ({ command, env, workingDirectory = home }) => {
    const variables = Object.entries(env ?? {}).flatMap(([name, value]) => ["--setenv", name, value])
    const words = [...confinement(machine), ...variables, "--chdir", workingDirectory, "--", "bash", "-c", command]
    const child = spawn("bwrap", words, { stdio: ["ignore", "pipe", "pipe"] })
    const closed = once(child, "close").then(([code]: ReadonlyArray<unknown>) => ({
      exitCode: typeof code === "number" ? code : 137
    }))
    return Promise.resolve({
      stdout: Readable.toWeb(child.stdout),
      stderr: Readable.toWeb(child.stderr),
      wait: () => closed,
      kill: () => Promise.resolve(void child.kill("SIGKILL"))
    })
  }
})

/** Opens a session on a new machine. */
export const open = (): Promise<AiSdkSession.Opened> => {
  const machine = mkdtempSync(join(tmpdir(), "effect-rl-machine-"))
  mkdirSync(join(machine, home), { recursive: true })
  for (const name of ["bin", "sbin", "lib", "lib64"]) symlinkSync(`usr/${name}`, join(machine, name))
  return Promise.resolve({
    session: sessionOf(machine),
    folder: home,
    close: () => Promise.resolve(rmSync(machine, { recursive: true, force: true }))
  })
}

/** Options of `Sandbox.layerSession` for these sessions. */
export const options: AiSdkSession.Options = {
  provider: "session of a machine",
  isolation: "remote",
  sampledCode: true,
  runtimes: ["shell"],
  network: "none",
  folders: true,
  open
}
