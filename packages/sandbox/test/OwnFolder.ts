/** A folder of temporary files for one test, in place of that of this process. */
import { Effect } from "effect"
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** The path; sandboxes that open in this scope keep their files below it. No other test may run meanwhile. */
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
