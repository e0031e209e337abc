/** Opens runs for verbs that read a run from beginning to end. */
import { InvalidOption } from "@effect-rl/core"
import { RunDirectory } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import * as NamedCheckpoint from "./NamedCheckpoint.ts"
import * as RunCheckpoints from "./RunCheckpoints.ts"

/** Opens the run in the folder; rejects a checkpoint's name. */
export const open = Effect.fnUntraced(function*(text: string) {
  const run = NamedCheckpoint.runIn(text) ?? ""
  const isOfRun = !(yield* RunCheckpoints.isRun(text)) && (yield* RunCheckpoints.isRun(run))
  if (isOfRun || NamedCheckpoint.isAddress(text)) {
    return yield* new InvalidOption.InvalidOption({
      field: "run",
      found: `${text}, a checkpoint`,
      expected: `the folder of a whole run, such as ${
        isOfRun ? run : "runs/arithmetic-0"
      }; merge writes a checkpoint's weights`
    })
  }
  return yield* RunDirectory.open(text)
})
