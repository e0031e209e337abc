/** `--unsafe-host`: runs agents directly on this machine instead of in sandboxes. */
import * as Flag from "effect/cli/Flag"

export const flag = Flag.Boolean("unsafe-host").pipe(
  Flag.withDescription(
    "Start agents outside of a sandbox: they, and any command that a model has them run, have all of your permissions"
  ),
  Flag.withDefault(false)
)
