/** Ends what a process started. */
import { readdirSync, readFileSync } from "node:fs"

const attempt = <A>(of: () => A, otherwise: A): A => {
  try {
    return of()
  } catch {
    return otherwise
  }
}

/** Ends a process with the group that it leads; nothing happens where they have ended by themselves. */
export const kill = (pid: number | undefined): void => {
  if (pid !== undefined) attempt(() => process.kill(-pid, "SIGKILL"), false)
}

/** Ends all processes whose command begins with a word, which has to be unique to them, on a system with `/proc`. */
export const killNamed = (word: string): void => {
  for (const pid of attempt(() => readdirSync("/proc"), []).filter((name) => /^\d+$/.test(name))) {
    const command = attempt(() => readFileSync(`/proc/${pid}/cmdline`, "utf8"), "")
    if (command.startsWith(`${word}\0`)) attempt(() => process.kill(Number(pid), "SIGKILL"), false)
  }
}
