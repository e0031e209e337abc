/** Signals that end the process: the first lets it finish and save, the second ends it at once. */
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"

/** Exit codes as shells know them: 128 and the signal's number. */
const codes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const

type Signal = keyof typeof codes

const signals = ["SIGHUP", "SIGINT", "SIGTERM"] as const

/** npm passes a Ctrl-C on to a process that has it from the terminal already: what comes this soon is one and the same. */
const sameSignal = 500

let received: Signal | undefined
let isArmed = false

/** Those who wait for a Ctrl-C. */
const waiting = new Set<() => void>()
let isHandedOver = false

/** Completes at the next Ctrl-C, which ends nothing else. */
export const ctrlC: Effect.Effect<void> = Effect.callback<void>((resume) => {
  const go = () => resume(Effect.void)
  waiting.add(go)
  return Effect.sync(() => waiting.delete(go))
})

/** Whether the Ctrl-C was for those who wait for one. */
const handOver = () => {
  if (waiting.size === 0) return isHandedOver
  isHandedOver = true
  setTimeout(() => {
    isHandedOver = false
  }, sameSignal).unref()
  for (const go of waiting) go()
  waiting.clear()
  return true
}

const onSignal = (signal: Signal, interrupt: () => void) => {
  if (signal === "SIGINT" && received === undefined && handOver()) return
  if (isArmed) {
    process.stderr.write("ended at once: what was not saved yet is lost\n")
    process.exit(codes[signal])
  }
  if (received !== undefined) return
  received = signal
  interrupt()
  setTimeout(() => {
    isArmed = true
  }, sameSignal).unref()
}

/** Runs the program of the process. Its exit code says which signal ended it. */
export const runMain = Runtime.makeRunMain(({ fiber }) => {
  const listeners = signals.map((signal) =>
    [signal, () => onSignal(signal, () => fiber.interruptUnsafe(fiber.id))] as const
  )
  for (const [signal, listener] of listeners) process.on(signal, listener)
  fiber.addObserver((exit) => {
    for (const [signal, listener] of listeners) process.off(signal, listener)
    Runtime.defaultTeardown(exit, (code) => {
      if (received !== undefined) process.exit(code === codes.SIGINT ? codes[received] : code)
      if (code !== 0) process.exit(code)
    })
  })
})
