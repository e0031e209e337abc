/** Ctrl-C as the end of one piece of work, after which the program continues. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** Completes at the next Ctrl-C. While it is waited for, Ctrl-C does not end the program. */
export const CtrlC = Context.Reference<Effect.Effect<void>>("@effect-rl/cli/CtrlC", {
  defaultValue: () => Effect.never
})
