/** Runs programs in child processes and returns what they print. */
import { execFileSync } from "node:child_process"

/** Runs the command and returns its standard output, trimmed. Throws if it fails. */
export const run = (command: string, ...args: ReadonlyArray<string>): string =>
  execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim()

/** The output of a script of this repository. Node flags come before the script. */
export const node = (...args: ReadonlyArray<string>): string =>
  run(process.execPath, "--conditions=@effect-rl/source", ...args)
