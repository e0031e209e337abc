/** A temporary folder for one test, used instead of this process's temporary folder. */
import { Effect } from "effect"
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** The path. Sandboxes opened in this scope keep their files below it. No other test may run at the same time. */
export const make = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => {
      const folder = mkdtempSync(join(tmpdir(), "effect-rl-own-"))
      chmodSync(folder, 0o755)
      const before = process.env["TMPDIR"]
      process.env["TMPDIR"] = folder
      return { folder, before }
    }),
    ({ before, folder }) =>
      Effect.sync(() => {
        if (before === undefined) delete process.env["TMPDIR"]
        else process.env["TMPDIR"] = before
        rmSync(folder, { recursive: true, force: true })
      })
  ),
  ({ folder }) => folder
)
