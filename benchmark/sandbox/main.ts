/**
 * Verdicts per second by provider: programs with ten cases each, a process or an instance for every case, beside a pool of Python's
 * `subprocess` without a sandbox. The argument is the number of programs.
 */
import { Outcome, Sandbox, type SandboxError, SandboxFiles } from "@effect-rl/sandbox"
import { Effect, type Layer } from "effect"
import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import * as Report from "../Report.ts"

const programs = Number(process.argv[2] ?? 512)
const cases = Array.from({ length: 10 }, (_, index) => index)
const concurrency = 2

const program = "import sys\nnumbers = list(map(int, sys.stdin.read().split()))\nprint(sum(numbers))\n"

const pool = `
import subprocess, sys, time
from concurrent.futures import ThreadPoolExecutor
def verdict(case):
  done = subprocess.run([sys.executable, "-c", ${
  JSON.stringify(program)
}], input=f"{case} 1", capture_output=True, text=True)
  return done.stdout == f"{case + 1}\\n"
start = time.monotonic()
with ThreadPoolExecutor(${concurrency}) as threads:
  right = sum(threads.map(verdict, [case for _ in range(${programs}) for case in range(10)]))
print(right, time.monotonic() - start)
`

interface Measured {
  readonly name: string
  readonly startMillis: number
  readonly warmMillis: number
  readonly perSecond: number
  readonly mebibytes: number
}

/** Resident memory of the processes below one, in MiB; a process that ends meanwhile counts as nothing. */
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

const measure = (name: string, layer: Layer.Layer<Sandbox.Sandbox, SandboxError.SandboxError>) =>
  Effect.gen(function*() {
    const start = performance.now()
    return yield* Effect.gen(function*() {
      const { open } = yield* Sandbox.Sandbox
      yield* graded(open)
      const startMillis = performance.now() - start
      const warm = yield* elapsed(graded(open))
      let mebibytes = 0
      const watch = setInterval(() => mebibytes = Math.max(mebibytes, below(String(process.pid))), 100)
      const all = yield* elapsed(
        Effect.forEach(Array.from({ length: programs }), () => graded(open), { concurrency })
      )
      clearInterval(watch)
      const right = all.value.flat().filter((isRight) => isRight).length
      if (right !== programs * cases.length) return yield* Effect.die(new Error(`${name}: ${right} verdicts are right`))
      const measured: Measured = {
        name,
        startMillis,
        warmMillis: warm.millis / cases.length,
        perSecond: 1000 * right / all.millis,
        mebibytes: mebibytes / concurrency
      }
      return measured
    }).pipe(Effect.provide(layer))
  })

const [right, seconds] = execFileSync("python3", ["-c", pool], { encoding: "utf8" }).trim().split(" ").map(Number)
if (right !== programs * cases.length || seconds === undefined) throw new Error(`the pool gave ${right} right verdicts`)
const poolPerSecond = right / seconds

const measured = await Effect.runPromise(
  Effect.all([
    measure("bubblewrap", Sandbox.Sandbox.layerBubblewrap({ concurrency })),
    measure("wasi", Sandbox.Sandbox.layerWasi({ concurrency })),
    measure("unsafe-host", Sandbox.Sandbox.layerUnsafeHost({ concurrency }))
  ])
)

Report.publish("sandbox", "Verdicts by provider of sandboxes", [
  `${programs} programs with ten cases each, ${concurrency} at the same time; every case is a process, or an instance, of its own.`,
  Report.table(
    [
      "provider",
      "to the first ten verdicts",
      "one verdict, warm",
      "verdicts per second",
      "of the pool",
      "MiB per program"
    ],
    [
      ["subprocess pool, no sandbox", "", "", poolPerSecond.toFixed(1), "1.00", ""],
      ...measured.map(({ mebibytes, name, perSecond, startMillis, warmMillis }) => [
        name,
        `${startMillis.toFixed(0)} ms`,
        `${warmMillis.toFixed(0)} ms`,
        perSecond.toFixed(1),
        (perSecond / poolPerSecond).toFixed(2),
        mebibytes.toFixed(0)
      ])
    ]
  )
])
