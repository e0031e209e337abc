/**
 * Measures verdicts per second of each provider: programs with ten cases, with a process or an instance for every case. The baseline is a
 * pool of Python's `subprocess` without a sandbox. The providers take turns, so other load on the machine affects all of them. The argument
 * is the number of programs.
 */
import { Outcome, Sandbox, type SandboxError, SandboxFiles } from "@effect-rl/sandbox"
import { Effect, Layer, type Scope } from "effect"
import { execFile } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname } from "node:path"
import * as Report from "../Report.ts"

const programs = Number(process.argv[2] ?? 512)
const cases = Array.from({ length: 10 }, (_, index) => index)
const concurrency = 2

/** Number of programs in a provider's turn. */
const perTurn = Math.min(32, programs)
const turns = Math.ceil(programs / perTurn)

const program = "import sys\nnumbers = list(map(int, sys.stdin.read().split()))\nprint(sum(numbers))\n"

/** Every provider but WASI runs the same Python, the one that bubblewrap finds. */
const python = ["/usr/local/bin/python3", "/usr/bin/python3"].find((file) => existsSync(file)) ?? "python3"
if (python.startsWith("/")) process.env["PATH"] = `${dirname(python)}:${process.env["PATH"]}`

const pool = `
import subprocess, sys
from concurrent.futures import ThreadPoolExecutor
def verdict(case):
  done = subprocess.run([sys.executable, "-c", ${
  JSON.stringify(program)
}], input=f"{case} 1", capture_output=True, text=True)
  return done.stdout == f"{case + 1}\\n"
with ThreadPoolExecutor(${concurrency}) as threads:
  print(sum(threads.map(verdict, [case for _ in range(${perTurn}) for case in range(10)])))
`

/** A provider of verdicts, and its start-up time. */
interface Measured {
  readonly name: string
  readonly startMillis: number
  /** Median milliseconds of a sandbox's first verdict, and of later ones, while no other verdict runs. */
  readonly firstMillis: number
  readonly nextMillis: number
  /** Judges the programs of one turn and returns the number of correct verdicts. */
  readonly turn: Effect.Effect<number, SandboxError.SandboxError>
}

/** Resident memory in MiB of the descendants of a process. A process that ends meanwhile counts as 0. */
const below = (pid: string): number => {
  try {
    const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").filter((id) => id !== "")
    )
    return children.reduce((sum, id) => {
      const kibibytes = /^VmRSS:\s*(\d+)/m.exec(readFileSync(`/proc/${id}/status`, "utf8"))?.[1] ?? 0
      return sum + Number(kibibytes) / 1024 + below(id)
    }, 0)
  } catch {
    return 0
  }
}

const elapsed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const start = performance.now()
    const value = yield* effect
    return { value, millis: performance.now() - start }
  })

const verdict = ({ exec }: Sandbox.Handle, value: number) =>
  Effect.map(
    exec({ argv: ["python3", "main.py"], stdin: `${value} 1` }),
    (outcome) => Outcome.is("Exited")(outcome) && Outcome.text(outcome.stdout) === `${value + 1}\n`
  )

const graded = (open: Sandbox.Sandbox["Service"]["open"]) =>
  Effect.scoped(
    Effect.flatMap(
      open({ runtime: "python", role: "grader", files: SandboxFiles.make({ "main.py": program }) }),
      (place) => Effect.forEach(cases, (value) => verdict(place, value))
    )
  )

/** Milliseconds of the verdict on each case, one after another in one new sandbox. */
const timedVerdicts = (open: Sandbox.Sandbox["Service"]["open"]) =>
  Effect.scoped(
    Effect.flatMap(
      open({ runtime: "python", role: "grader", files: SandboxFiles.make({ "main.py": program }) }),
      (place) => Effect.forEach(cases, (value) => Effect.map(elapsed(verdict(place, value)), ({ millis }) => millis))
    )
  )

const started = Effect.fnUntraced(function*(
  name: string,
  layer: Layer.Layer<Sandbox.Sandbox, SandboxError.SandboxError>
): Effect.fn.Return<Measured, SandboxError.SandboxError, Scope.Scope> {
  const start = performance.now()
  const { open } = yield* Effect.provideContext(Sandbox.Sandbox, yield* Layer.build(layer))
  yield* graded(open)
  const startMillis = performance.now() - start
  const timings = yield* Effect.forEach(Array.from({ length: 11 }), () => timedVerdicts(open))
  const turn = Effect.map(
    Effect.forEach(Array.from({ length: perTurn }), () => graded(open), { concurrency }),
    (verdicts) => verdicts.flat().filter((isRight) => isRight).length
  )
  return {
    name,
    startMillis,
    firstMillis: Report.median(timings.flatMap(([first = NaN]) => [first])),
    nextMillis: Report.median(timings.flatMap(([, ...next]) => next)),
    turn
  }
})

const poolTurn = Effect.callback<number>((resume) =>
  void execFile(
    python,
    ["-c", pool],
    (cause, stdout) => resume(cause === null ? Effect.succeed(Number(stdout)) : Effect.die(cause))
  )
)

/** Runs one turn, and measures its verdicts per second and the peak memory of all child processes of this one. */
const timed = Effect.fnUntraced(function*(name: string, turn: Measured["turn"]) {
  let mebibytes = 0
  const watch = setInterval(() => mebibytes = Math.max(mebibytes, below(String(process.pid))), 100)
  const { millis, value } = yield* elapsed(turn)
  clearInterval(watch)
  if (value !== perTurn * cases.length) return yield* Effect.die(new Error(`${name}: ${value} verdicts are right`))
  return { perSecond: 1000 * value / millis, mebibytes }
})

/** Measures memory while no other provider runs. */
const memoryOf = (name: string, layer: Layer.Layer<Sandbox.Sandbox, SandboxError.SandboxError>) =>
  Effect.scoped(Effect.gen(function*() {
    const provider = yield* started(name, layer)
    const { mebibytes } = yield* timed(name, provider.turn)
    return mebibytes / concurrency
  }))

const layers = {
  bubblewrap: Sandbox.Sandbox.layerBubblewrap({ concurrency }),
  wasi: Sandbox.Sandbox.layerWasi({ concurrency }),
  "unsafe-host": Sandbox.Sandbox.layerUnsafeHost({ concurrency })
}

const measured = await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
  const memory = new Map<string, number>()
  for (const [name, layer] of Object.entries(layers)) memory.set(name, yield* memoryOf(name, layer))
  const providers = yield* Effect.forEach(Object.entries(layers), ([name, layer]) => started(name, layer))
  const rates = new Map<string, Array<number>>()
  for (let turn = 0; turn < turns; turn++) {
    for (const { name, turn } of [{ name: "pool", turn: poolTurn }, ...providers]) {
      const { perSecond } = yield* timed(name, turn)
      rates.set(name, [...rates.get(name) ?? [], perSecond])
    }
    Report.progress(`${turn + 1} of ${turns} turns`)
  }
  return { memory, providers, rates }
})))

const ratesOf = (name: string) => measured.rates.get(name) ?? []

/** Verdicts divided by the total time of all turns. */
const rate = (name: string) => turns / ratesOf(name).reduce((sum, perSecond) => sum + 1 / perSecond, 0)

const ofPool = (name: string) =>
  Report.median(ratesOf(name).map((perSecond, turn) => perSecond / (ratesOf("pool")[turn] ?? NaN)))

Report.publish("sandbox", "Verdicts by provider of sandboxes", [
  `${
    perTurn * turns
  } programs with ten cases each, ${concurrency} at the same time; every case runs in its own process or WASI instance. ` +
  "The program only adds two numbers, so the time is that of the sandbox.",
  Report.table(
    [
      "provider",
      "from nothing to ten verdicts",
      "first verdict of a sandbox",
      "a later verdict",
      "verdicts per second",
      "of the pool's, median of turns",
      "MiB per sandbox"
    ],
    [
      ["subprocess pool, no sandbox", "", "", "", rate("pool").toFixed(1), "1.00", ""],
      ...measured.providers.map(({ name, firstMillis, nextMillis, startMillis }) => [
        name,
        `${startMillis.toFixed(0)} ms`,
        `${firstMillis.toFixed(0)} ms`,
        `${nextMillis.toFixed(0)} ms`,
        rate(name).toFixed(1),
        ofPool(name).toFixed(2),
        (measured.memory.get(name) ?? NaN).toFixed(0)
      ])
    ]
  ),
  `The pool and the providers alternate in turns of ${perTurn} programs; the ratio compares neighbouring turns. The pool and every provider but ` +
  "WASI run the same Python.",
  "The times of one sandbox are medians: of the first verdicts of 11 sandboxes and of the nine verdicts after each, measured one after the " +
  "other while the benchmark does nothing else. A WASI sandbox is a process that keeps the compiled module and the next thread, and starts " +
  "no native program. bubblewrap prepares the namespaces and mounts of the next program if a slot is free, which is never the case while " +
  "two programs run; unsafeHost prepares nothing."
])
