/** A program that waits for one Ctrl-C, and then for another that ends it. */
import * as CtrlC from "@effect-rl/cli/CtrlC"
import * as Signals from "@effect-rl/cli/Signals"
import { Console, Effect } from "effect"

Effect.gen(function*() {
  yield* Console.log("working")
  yield* yield* CtrlC.CtrlC
  yield* Console.log("went on")
  return yield* Effect.onInterrupt(Effect.never, () => Console.log("saved"))
}).pipe(
  Effect.provideService(CtrlC.CtrlC, Signals.ctrlC),
  Signals.runMain
)
