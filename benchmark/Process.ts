/** Programs that run in a process of their own and print what they measured. */
import { execFileSync } from "node:child_process"

/** What the command prints. */
export const run = (command: string, ...args: ReadonlyArray<string>): string =>
  execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim()

/** What a script of this repository prints; flags of Node come first. */
export const node = (...args: ReadonlyArray<string>): string =>
  run(process.execPath, "--conditions=@effect-rl/source", ...args)
