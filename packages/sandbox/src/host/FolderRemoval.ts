/** Removes folders in which untrusted programs may have written. */
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import { rm } from "node:fs/promises"

/**
 * Removes a folder. Programs may leave folders that their owner may not enter, and folders nested so deeply that Node
 * takes minutes to remove them. If something cannot be removed, `rm` removes the rest. Its messages are discarded,
 * because too much output would end it.
 */
const script = "{ rm -rf -- \"$1\" || { chmod -R u+rwx -- \"$1\"; rm -rf -- \"$1\"; }; } 2> /dev/null"

const environment = { PATH: "/usr/local/bin:/usr/bin:/bin" }

/** Removes a folder without a shell. Where there is none, as on Windows, programs cannot have written files either. */
const withoutShell = (path: string) => rm(path, { recursive: true, force: true, maxRetries: 3 }).catch(() => {})

/** Removes a folder if it exists, with everything in it. Files that cannot be removed are left to the reaper. */
export const remove = (path: string): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    execFile("/bin/sh", ["-c", script, "sh", path], { env: environment }, (error) => {
      void (error === null ? Promise.resolve() : withoutShell(path)).then(() => resume(Effect.void))
    })
  })
