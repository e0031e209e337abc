/** The flag that lets agents be programs of this machine. */
import * as Flag from "effect/cli/Flag"

export const flag = Flag.Boolean("unsafe-host").pipe(
  Flag.withDescription(
    "Start agents as programs of this machine, with everything that you may do: so may what a model has them run"
  ),
  Flag.withDefault(false)
)
