/** `--unsafe-host`: runs agents directly on this machine instead of in sandboxes. */
import * as Flag from "effect/cli/Flag"

export const flag = Flag.Boolean("unsafe-host").pipe(
  Flag.withDescription(
    "Start agents outside of a sandbox, with everything that you may do on this machine: so may what a model has them run"
  ),
  Flag.withDefault(false)
)
