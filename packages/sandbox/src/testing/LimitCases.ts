import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Outcome from "../Outcome.ts"
import * as Case from "./Case.ts"

const mebibyte = 1024 * 1024

const forever: Case.Program = {
  python: "print('started', flush=True)\nwhile True: pass",
  shell: "echo started; while true; do :; done"
}

const hasPrinted = (outcome: Outcome.Outcome, text: string) => Outcome.text(outcome.stdout).includes(text)

/** Anonymous in-memory files, which belong to no folder. */
const filesWithoutName = `
import os
kept, held = [], 0
while held < 192:
  kept.append(os.memfd_create('a'))
  for _ in range(8):
    os.write(kept[-1], bytes(1 << 20)); held += 1
print('kept more')`

/** System V shared memory, which remains after a process detaches from it. */
const sharedMemory = `
import ctypes
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
libc.shmdt.argtypes = [ctypes.c_void_p]
for _ in range(24):
  part = libc.shmget(0, 8 << 20, 0o1600)
  assert part >= 0
  place = libc.shmat(part, None, 0)
  ctypes.memset(place, 1, 8 << 20)
  libc.shmdt(place)
print('kept more')`

/** The cases on limits of time, memory, output, disk and processes, on interruption, and on closing a scope. */
export const cases: ReadonlyArray<Case.Case> = [
  Case.make(
    "time: a busy program is killed at its limit, and what it printed is kept",
    Effect.gen(function*() {
      const place = yield* Case.open({ limits: { wall: "1500 millis", cpu: "1 minute" } })
      const outcome = yield* place.run(forever)
      yield* Case.expectOutcome(
        outcome,
        Outcome.is("TimedOut")(outcome) && outcome.limit === "wall" && hasPrinted(outcome, "started"),
        "TimedOut by the wall after \"started\""
      )
    })
  ),
  Case.make(
    "time: a sleeping program is killed at its limit",
    Effect.gen(function*() {
      const place = yield* Case.open({ limits: { wall: "700 millis" } })
      yield* Case.expectTag(yield* place.run({ python: "import time; time.sleep(60)", shell: "sleep 60" }), "TimedOut")
    })
  ),
  Case.make(
    "time: a program is killed at its limit on processor time",
    Case.where(
      ({ capabilities }) => capabilities.enforced.includes("cpu"),
      Effect.gen(function*() {
        const place = yield* Case.open({ limits: { wall: "2 minutes", cpu: "1 second" } })
        const outcome = yield* place.run(forever)
        yield* Case.expectOutcome(
          outcome,
          Outcome.is("TimedOut")(outcome) && outcome.limit === "cpu",
          "TimedOut by the processor time"
        )
      })
    )
  ),
  Case.make(
    "memory: a program does not get more than its limit",
    Case.where(
      (service) => Case.runsPython(service) && service.capabilities.enforced.includes("memory"),
      Effect.gen(function*() {
        const place = yield* Case.open({ limits: { memory: 128 * mebibyte, wall: "1 minute", cpu: "1 minute" } })
        const slowly = yield* place.run({
          python: "x = []\nwhile True: x.append(bytes(range(256)) * 4096)"
        })
        const atOnce = yield* place.run({ python: "x = bytearray(10 ** 9); x[::4096] = x[::4096]; print('got it')" })
        const caught = yield* place.run({
          python: "x = []\ntry:\n  while True: x.append(bytearray(2 ** 20))\nexcept MemoryError: print(len(x) < 128)"
        })
        for (const outcome of [slowly, atOnce]) {
          yield* Case.expectTag(outcome, "OutOfMemory", "Exited", "Signalled")
          yield* Case.expectOutcome(outcome, !Outcome.is("Exited")(outcome) || outcome.code !== 0, "no success")
        }
        yield* Case.expectOutcome(
          caught,
          Outcome.is("OutOfMemory")(caught) || hasPrinted(caught, "True"),
          "at most 128 MiB"
        )
      })
    )
  ),
  Case.make(
    "memory: what a program keeps outside of its own memory is limited too",
    Case.where(
      (service) =>
        Case.runsPython(service) && Case.isConfined(service) && service.capabilities.enforced.includes("memory"),
      Effect.gen(function*() {
        const place = yield* Case.open({ limits: { memory: 128 * mebibyte, disk: 8 * mebibyte } })
        for (const python of [filesWithoutName, sharedMemory]) {
          const outcome = yield* place.run({ python })
          yield* Case.expectOutcome(outcome, !hasPrinted(outcome, "kept more"), "at most 128 MiB")
        }
      })
    )
  ),
  Case.make(
    "output: a flood is cut at the limit, on either stream",
    Effect.gen(function*() {
      const place = yield* Case.open({ limits: { output: 100_000 } })
      for (const [of, target] of [["stdout", "1"], ["stderr", "2"]] as const) {
        const outcome = yield* place.run({
          python: `import os\nwhile True: os.write(${target}, b'y' * 1000)`,
          shell: `while true; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy >&${target}; done`
        })
        yield* Case.expectOutcome(
          outcome,
          Outcome.is("OutputLimit")(outcome) && outcome.of === of,
          `OutputLimit of ${of}`
        )
        yield* Case.expectEqual(`bytes of ${of}`, outcome[of].byteLength, 100_000)
      }
    })
  ),
  Case.make(
    "output: exactly the limit is within it",
    Effect.gen(function*() {
      const place = yield* Case.open({ limits: { output: 1000 } })
      const outcome = yield* place.run({
        python: "import os; os.write(1, b'y' * 1000)",
        shell: "printf %01000d 0"
      })
      yield* Case.expectTag(outcome, "Exited")
      yield* Case.expectEqual("bytes", outcome.stdout.byteLength, 1000)
    })
  ),
  Case.make(
    "disk: a program cannot write more than its limit, to one file or to many",
    Case.where(
      (service) => Case.runsPython(service) && service.capabilities.enforced.includes("disk"),
      Effect.gen(function*() {
        const flood = (file: string) => ({
          python:
            `n = 0\nwhile True:\n  with open(${file}, 'ab') as f: f.write(b'z' * 2 ** 20)\n  n += 1\n  if n > 300: break\nprint('wrote it all')`
        })
        for (const role of ["agent", "grader"] as const) {
          const place = yield* Case.open({ role, limits: { disk: 8 * mebibyte, wall: "1 minute" } })
          const one = yield* place.run(flood("'big'"))
          yield* Case.expectOutcome(one, !hasPrinted(one, "wrote it all"), "no file of 300 MiB")
        }
        const place = yield* Case.open({ limits: { disk: 8 * mebibyte, wall: "1 minute" } })
        const many = yield* place.run(flood("f'big{n}'"))
        yield* Case.expectOutcome(many, !hasPrinted(many, "wrote it all"), "no 300 files of 1 MiB")
      })
    )
  ),
  Case.make(
    "disk: a file with a hole takes no more than its limit",
    Case.where(
      (service) => Case.runsPython(service) && service.capabilities.enforced.includes("disk"),
      Effect.gen(function*() {
        const place = yield* Case.open({ limits: { disk: 8 * mebibyte } })
        const outcome = yield* place.run({
          python: "f = open('hole', 'wb'); f.seek(10 ** 11); f.write(b'x'); f.close(); print('wrote it')"
        })
        yield* Case.expectOutcome(outcome, !hasPrinted(outcome, "wrote it"), "no file of 100 GB")
      })
    )
  ),
  Case.make(
    "processes: a fork bomb ends",
    Case.where(
      (service) => Case.runsPython(service) && service.capabilities.enforced.includes("processes"),
      Effect.gen(function*() {
        const place = yield* Case.open({ limits: { processes: 8, wall: "4 seconds" } })
        const outcome = yield* place.run({
          python: `
import os
count = 0
try:
  while count < 1000:
    if os.fork() == 0:
      while True: pass
    count += 1
except BaseException: pass
print(count <= 8)`
        })
        yield* Case.expectOutcome(outcome, hasPrinted(outcome, "True"), "at most 8 processes")
      })
    )
  ),
  Case.make(
    "processes: a child that is left behind ends with its program",
    Case.where(
      (service) => Case.runsPython(service) && Case.isConfined(service),
      Effect.gen(function*() {
        const place = yield* Case.open({ role: "agent" })
        const leaving = yield* place.run({
          python: `
import os, time
try: child = os.fork()
except BaseException: child = 1
if child == 0:
  os.setsid()
  for n in (0, 1, 2): os.close(n)
  time.sleep(1)
  open('late', 'w').write('x')
  os._exit(0)
print('left')`
        })
        yield* Case.expectPrinted(leaving, "left")
        const later = yield* place.run({ python: "import os, time; time.sleep(1.5); print(os.path.exists('late'))" })
        yield* Case.expectPrinted(later, "False")
      })
    )
  ),
  Case.make(
    "outcome: a program that crashes its interpreter is a verdict",
    Case.where(
      Case.runsPython,
      Effect.gen(function*() {
        const place = yield* Case.open()
        for (
          const python of [
            "import os; os.abort()",
            "import os; os._exit(77)",
            "import sys; sys.setrecursionlimit(10 ** 9)\ndef f(n): return f(n + 1) + 1\nf(0)",
            "class A: pass\na = A()\nfor _ in range(10 ** 6): a = [a]\nprint(a == a)\nraise SystemExit(9)"
          ]
        ) {
          const outcome = yield* place.run({ python })
          yield* Case.expectTag(outcome, "Exited", "Signalled", "OutOfMemory", "TimedOut")
          yield* Case.expectOutcome(outcome, !Outcome.is("Exited")(outcome) || outcome.code !== 0, "no success")
        }
        yield* Case.expectPrinted(yield* place.run({ python: "print('still here')" }), "still here")
      })
    )
  ),
  Case.make(
    "interruption: it kills the program, and the sandbox can be used afterwards",
    Effect.gen(function*() {
      const place = yield* Case.open({ limits: { wall: "10 minutes", cpu: "10 minutes" } })
      const fiber = yield* Effect.forkChild(place.run(forever))
      yield* Effect.sleep("500 millis")
      yield* Fiber.interrupt(fiber)
      yield* Case.expectPrinted(yield* place.run({ python: "print('next')", shell: "echo next" }), "next")
    })
  ),
  Case.make(
    "scope: closing it kills running programs, and later requests fail as lost",
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const place = yield* Scope.provide(scope)(Case.open({ limits: { wall: "10 minutes", cpu: "10 minutes" } }))
      const started = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkChild(Effect.andThen(Deferred.succeed(started, undefined), place.run(forever)))
      yield* Deferred.await(started)
      yield* Effect.sleep("500 millis")
      yield* Scope.close(scope, Exit.void)
      yield* Case.expectTag(yield* Fiber.join(fiber), "Killed")
      yield* Case.expectRefusal(place.run(forever), "Lost")
      yield* Case.expectRefusal(place.handle.read("a"), "Lost")
      yield* Case.expectRefusal(place.handle.write("a", ""), "Lost")
    })
  )
]
