/** Ends processes together with the processes that they started. */
import { readdirSync, readFileSync } from "node:fs"

const attempt = <A>(of: () => A, otherwise: A): A => {
  try {
    return of()
  } catch {
    return otherwise
  }
}

/** Ends a process and the group that it leads. Does nothing if they have already ended. */
export const kill = (pid: number | undefined): void => {
  if (pid !== undefined) attempt(() => process.kill(-pid, "SIGKILL"), false)
}

/** Ends all processes whose command line starts with a word, on systems with `/proc`. The word must be unique to them. */
export const killNamed = (word: string): void => {
  for (const pid of attempt(() => readdirSync("/proc"), []).filter((name) => /^\d+$/.test(name))) {
    const command = attempt(() => readFileSync(`/proc/${pid}/cmdline`, "utf8"), "")
    if (command.startsWith(`${word}\0`)) attempt(() => process.kill(Number(pid), "SIGKILL"), false)
  }
}
