/** Signals that end the process: the first lets it finish and save, the second ends it at once. */
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"

/** Exit codes as shells know them: 128 and the signal's number. */
const codes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const

type Signal = keyof typeof codes

/** npm passes a Ctrl-C on to a process that has it from the terminal already: what comes this soon is one and the same. */
const sameSignal = 500

let received: Signal | undefined
let isArmed = false

const onSignal = (signal: Signal) => {
  if (isArmed) {
    process.stderr.write("ended at once: what was not saved yet is lost\n")
    process.exit(codes[signal])
  }
  if (received !== undefined) return
  received = signal
  setTimeout(() => {
    isArmed = true
  }, sameSignal).unref()
}

/** Never succeeds; a terminal that is closed interrupts it, as `NodeRuntime.runMain` does for the other signals. */
export const listen: Effect.Effect<never> = Effect.callback<never>((resume) => {
  for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"] as const) process.on(signal, () => onSignal(signal))
  process.once("SIGHUP", () => resume(Effect.interrupt))
})

/** The exit code says which signal ended the process. */
export const teardown: Runtime.Teardown = (exit, onExit) =>
  Runtime.defaultTeardown(
    exit,
    (code) => onExit(code === codes.SIGINT && received !== undefined ? codes[received] : code)
  )
