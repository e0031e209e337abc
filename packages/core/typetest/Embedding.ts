/** A run is a value: it can be bounded, stopped at a goal, recovered from, and embedded in a larger program. */
import { RunRecord } from "@effect-rl/core"
import { Effect, type Option, Stream } from "effect"
import { holds, type Same } from "./Same.ts"
import { gsm8k } from "./Tutorial.ts"

export const nightly = gsm8k("effect-rl/tiny-128").pipe(
  Stream.takeUntil((record) => record._tag === "Updated" && (record.reward?.mean ?? 0) >= 0.95),
  Stream.runLast,
  Effect.timeout("2 hours"),
  Effect.catchReason(
    "TinkerError",
    "Unavailable",
    () => Effect.logWarning("the backend is unavailable: training has stopped")
  )
)

holds<Same<Effect.Success<typeof nightly>, Option.Option<RunRecord.RunRecord> | void>>()

/** Every record has a distinct tag, so a report can handle each kind. */
export const line: (record: RunRecord.RunRecord) => string = RunRecord.matchOrElse({
  Updated: ({ iteration, reward }) => `${iteration}: ${reward?.mean}`,
  Finished: ({ reason }) => `finished: ${reason}`
}, ({ _tag }) => _tag)
