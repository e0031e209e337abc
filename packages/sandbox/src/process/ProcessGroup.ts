/** The processes that one process started and that have not left its group. */

/** Ends a process with the group that it leads. */
export const kill = (pid: number | undefined): void => {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL")
  } catch {
    // The group has ended by itself.
  }
}
