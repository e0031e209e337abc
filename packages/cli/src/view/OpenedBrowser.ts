/** Opens addresses in this machine's browser. */
import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"

const commandOf: Readonly<
  Partial<Record<NodeJS.Platform, readonly [command: string, ...args: ReadonlyArray<string>]>>
> = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""]
}

/** Opens the address. If no browser can be started, logs this and succeeds. */
export const open = (address: string): Effect.Effect<void> =>
  Effect.callback<void, Error>((resume) => {
    const [command, ...args] = commandOf[process.platform] ?? ["xdg-open"]
    spawn(command, [...args, address], { stdio: "ignore", detached: true })
      .once("error", (error) => resume(Effect.fail(error)))
      .once("spawn", () => resume(Effect.void))
      .unref()
  }).pipe(
    Effect.catch(({ message }) =>
      Effect.logWarning(`no browser could be started (${message}): open the address yourself`)
    )
  )
