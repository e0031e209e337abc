/** The browser of the person at this machine. */
import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"

const commandOf: Readonly<
  Partial<Record<NodeJS.Platform, readonly [command: string, ...args: ReadonlyArray<string>]>>
> = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""]
}

/** Opens the address; where no browser can be started, says so and goes on. */
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
