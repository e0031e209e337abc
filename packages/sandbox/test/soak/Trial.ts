/** Random programs that end in every possible way, and the endings to expect. */
import { type Draw } from "@effect-rl/core/testing"
import { Outcome, Sandbox, type SandboxError, type SandboxSpec } from "@effect-rl/sandbox"
import { Cause, Effect, Exit, Fiber, Option, Scope } from "effect"

/** How a trial ended: an outcome, the reason of a failure, or interruption. */
export type Ending = string

export interface Trial {
  readonly kind: string
  readonly python: string
  readonly stdin?: string
  readonly limits?: NonNullable<SandboxSpec.SandboxSpec["limits"]>
  /** Interrupts the program or closes its scope after this number of milliseconds. */
  readonly cut?: { readonly by: "interruption" | "scope"; readonly after: number }
  readonly expects: (ending: Ending) => boolean
  /** Whether the program is the second in its sandbox. Some providers set up the sandbox of the second program while the first one runs. */
  readonly isSecond?: boolean
}

/** Limits that let programs finish on a busy machine. */
const patient = { wall: "2 minutes", cpu: "2 minutes" } as const

const endless = ["while True: pass", "import time; time.sleep(600)"] as const

const is = (...endings: ReadonlyArray<string>) => (ending: Ending) => endings.includes(ending)

/** Whether the trial's program failed, in any of the forms in which providers report this. */
const failed = (ending: Ending) => /^(Exited [1-9]|Signalled|OutOfMemory|OutputLimit disk)/.test(ending)

const addition = (draw: Draw.Draw): Trial => {
  const [left, right] = [draw.integer(0, 999), draw.integer(0, 999)]
  return {
    kind: "adds",
    python: "print(sum(map(int, input().split())))",
    stdin: `${left} ${right}`,
    expects: is(`Exited 0 ${left + right}`)
  }
}

const exit = (draw: Draw.Draw): Trial => {
  const code = draw.integer(1, 120)
  return { kind: "exits", python: `raise SystemExit(${code})`, expects: is(`Exited ${code} `) }
}

const flood = (draw: Draw.Draw): Trial => {
  const [of, descriptor] = draw.oneOf([["stdout", 1], ["stderr", 2]] as const)
  return {
    kind: "floods",
    python: `import os\nwhile True: os.write(${descriptor}, b'y' * 4096)`,
    limits: { ...patient, output: draw.integer(0, 50_000) },
    expects: is(`OutputLimit ${of}`)
  }
}

const hang = (draw: Draw.Draw): Trial => ({
  kind: "hangs",
  python: draw.oneOf(endless),
  limits: { wall: draw.integer(50, 500), cpu: "1 minute" },
  expects: is("TimedOut wall")
})

const kinds: readonly [(draw: Draw.Draw) => Trial, ...ReadonlyArray<(draw: Draw.Draw) => Trial>] = [
  addition,
  addition,
  addition,
  exit,
  flood,
  hang,
  () => ({ kind: "aborts", python: "import os; os.abort()", expects: failed }),
  () => ({
    kind: "fills the disk",
    python: "for n in range(64): open(f'big{n}', 'wb').write(b'z' * 2 ** 22)",
    limits: { ...patient, disk: 2 ** 20 },
    expects: failed
  }),
  () => ({
    kind: "takes all memory",
    python: "x = bytearray(10 ** 9); x[::4096] = x[::4096]; print('got it')",
    limits: { ...patient, memory: 2 ** 27 },
    expects: failed
  }),
  () => ({
    kind: "leaves children",
    python: `
import os, time
for _ in range(3):
  try: child = os.fork()
  except BaseException: break
  if child == 0:
    for n in (0, 1, 2): os.close(n)
    time.sleep(600)
    os._exit(0)
print('left')`,
    expects: is("Exited 0 left")
  }),
  (draw) => ({
    kind: "is interrupted",
    python: draw.oneOf(endless),
    cut: { by: "interruption", after: draw.integer(0, 400) },
    expects: is("Interrupted")
  }),
  (draw) => ({
    kind: "is closed",
    python: draw.oneOf(endless),
    cut: { by: "scope", after: draw.integer(0, 400) },
    expects: is("Killed")
  })
]

export const make = (draw: Draw.Draw): Trial => ({ ...draw.oneOf(kinds)(draw), isSecond: draw.chance(0.5) })

const outcomeOf = Outcome.match({
  Exited: ({ code, stdout }) => `Exited ${code} ${Outcome.text(stdout).trim()}`,
  Signalled: ({ signal }) => `Signalled ${signal}`,
  TimedOut: ({ limit }) => `TimedOut ${limit}`,
  OutputLimit: ({ of }) => `OutputLimit ${of}`,
  OutOfMemory: () => "OutOfMemory",
  Killed: () => "Killed"
})

const failureOf = (cause: Cause.Cause<SandboxError.SandboxError>): Ending =>
  Option.match(Cause.findErrorOption(cause), { onNone: () => "Interrupted", onSome: ({ reason }) => reason._tag })

const endingOf = (exit: Exit.Exit<Outcome.Outcome, SandboxError.SandboxError>): Ending =>
  Exit.isSuccess(exit) ? outcomeOf(exit.value) : failureOf(exit.cause)

/** Runs a trial in a new sandbox to its end. Environment variables identify its processes. */
export const run = Effect.fnUntraced(function*(
  { cut, isSecond, limits, python, stdin = "" }: Trial,
  environment: Readonly<Record<string, string>> = {}
) {
  const { open } = yield* Sandbox.Sandbox
  const scope = yield* Scope.make()
  const opened = yield* Effect.exit(
    Scope.provide(open({ runtime: "python", role: "grader", environment, limits: limits ?? patient }), scope)
  )
  if (Exit.isFailure(opened)) return failureOf(opened.cause)
  if (isSecond === true) yield* Effect.exit(opened.value.exec({ argv: ["python3", "-c", "pass"] }))
  // Without this, on a busy machine, the scope could close before the program is started.
  const fiber = yield* Effect.forkChild(opened.value.exec({ argv: ["python3", "-c", python], stdin }), {
    startImmediately: true
  })
  if (cut !== undefined) {
    yield* Effect.sleep(cut.after)
    yield* cut.by === "scope" ? Scope.close(scope, Exit.void) : Fiber.interrupt(fiber)
  }
  const ending = endingOf(yield* Fiber.await(fiber))
  yield* Scope.close(scope, Exit.void)
  return ending
})
