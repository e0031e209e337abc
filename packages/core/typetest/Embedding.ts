/** A run is a value: bound it, stop it at a goal, recover from it, put it into a larger program. */
import { type Train } from "@effect-rl/core"
import { Effect, type Option, Stream } from "effect"
import { holds, type Same } from "./Same.ts"
import { gsm8k } from "./Tutorial.ts"

export const nightly = gsm8k("effect-rl/tiny-128").pipe(
  Stream.takeUntil((event) => event._tag === "Iteration" && event.meanReward >= 0.95),
  Stream.runLast,
  Effect.timeout("2 hours"),
  Effect.catchReason("TinkerError", "Unavailable", () => Effect.logWarning("backend away, trying tomorrow"))
)

holds<Same<Effect.Success<typeof nightly>, Option.Option<Train.Event> | void>>()

/** Every event has a tag of its own, so a report can say what it does with each. */
export const line = (event: Train.Event): string => {
  switch (event._tag) {
    case "Iteration":
      return `${event.iteration}: ${event.meanReward}`
    case "Finished":
      return `finished: ${event.reason}`
    default:
      return event._tag
  }
}
