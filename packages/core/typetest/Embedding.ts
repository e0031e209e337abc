/** A run is a value: bound it, stop it at a goal, recover from it, put it into a larger program. */
import { RunRecord } from "@effect-rl/core"
import { Effect, type Option, Stream } from "effect"
import { holds, type Same } from "./Same.ts"
import { gsm8k } from "./Tutorial.ts"

export const nightly = gsm8k("effect-rl/tiny-128").pipe(
  Stream.takeUntil((record) => record._tag === "Updated" && (record.reward?.mean ?? 0) >= 0.95),
  Stream.runLast,
  Effect.timeout("2 hours"),
  Effect.catchReason("TinkerError", "Unavailable", () => Effect.logWarning("backend away, trying tomorrow"))
)

holds<Same<Effect.Success<typeof nightly>, Option.Option<RunRecord.RunRecord> | void>>()

/** Every record has a tag of its own, so a report can say what it does with each. */
export const line: (record: RunRecord.RunRecord) => string = RunRecord.matchOrElse({
  Updated: ({ iteration, reward }) => `${iteration}: ${reward?.mean}`,
  Finished: ({ reason }) => `finished: ${reason}`
}, ({ _tag }) => _tag)
