/** Ctrl-C as a way to end one piece of work while the program continues. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** Completes at the next Ctrl-C. Ctrl-C does not end the program while an effect waits for this. */
export const CtrlC = Context.Reference<Effect.Effect<void>>("@effect-rl/cli/CtrlC", {
  defaultValue: () => Effect.never
})
