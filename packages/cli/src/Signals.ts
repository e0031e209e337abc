/** Signals that end the process: the first signal lets the program finish and save, the second ends it at once. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import * as SignalMeaning from "./SignalMeaning.ts"

/** Exit codes as shells report them: 128 plus the signal's number. */
const codes = { SIGHUP: 129, SIGINT: 130, SIGQUIT: 131, SIGTERM: 143 } as const

const signals = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM"] as const

/** The signal that made the program finish. */
let finishing: SignalMeaning.Signal | undefined
let last: SignalMeaning.Understood | undefined

/** Parts of the program that wait for a Ctrl-C. */
const waiting = new Set<() => void>()

/** Completes at the next Ctrl-C, which has no other effect. */
export const ctrlC: Effect.Effect<void> = Effect.callback<void>((resume) => {
  const go = () => resume(Effect.void)
  waiting.add(go)
  return Effect.sync(() => waiting.delete(go))
})

const onSignal = (signal: SignalMeaning.Signal, at: number, interrupt: () => void) => {
  const meaning = SignalMeaning.of(last, { signal, at, isAwaited: waiting.size > 0 })
  if (meaning === undefined) return
  last = { meaning, at }
  switch (meaning) {
    case "awaited": {
      for (const go of waiting) go()
      return waiting.clear()
    }
    case "finish": {
      finishing = signal
      return interrupt()
    }
    case "end at once": {
      process.stderr.write("ended at once: anything not saved yet is lost\n")
      process.exit(codes[signal])
    }
  }
}

/** Runs the process's main program. If a signal ended it, the exit code says which. */
export const runMain = Runtime.makeRunMain(({ fiber }) => {
  const clock = fiber.getRef(Clock.Clock)
  const listeners = signals.map((signal) =>
    [
      signal,
      () => onSignal(signal, clock.currentTimeMillisUnsafe(), () => fiber.interruptUnsafe(fiber.id))
    ] as const
  )
  for (const [signal, listener] of listeners) process.on(signal, listener)
  fiber.addObserver((exit) => {
    for (const [signal, listener] of listeners) process.off(signal, listener)
    Runtime.defaultTeardown(exit, (code) => {
      if (finishing !== undefined) process.exit(code === codes.SIGINT ? codes[finishing] : code)
      if (code !== 0) process.exit(code)
    })
  })
})
