import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Outcome from "../Outcome.ts"
import type { Started } from "../Sandbox.ts"
import * as SandboxFiles from "../SandboxFiles.ts"
import * as Case from "./Case.ts"

/** A shell that executes each line of its input and prints the results. */
const shell = ["sh", "-c", "while read -r line; do eval \"$line\"; done"] as const

const starts = (body: Case.Body) =>
  Case.where(({ capabilities }) => capabilities.start === true && capabilities.runtimes.includes("shell"), body)

const say = ({ stdin }: Started, ...lines: ReadonlyArray<string>) =>
  Stream.run(Stream.encodeText(Stream.fromIterable(lines.map((line) => `${line}\n`))), stdin)

/** Everything that a process prints after it has received these lines. */
const answer = (started: Started, ...lines: ReadonlyArray<string>) =>
  Effect.map(
    Effect.all([say(started, ...lines), Stream.mkString(Stream.decodeText(started.stdout))], { concurrency: 2 }),
    ([, said]) => said
  )

/** The first lines that a process prints, read while it is still running. */
const firstLines = ({ stdout }: Started, count: number) =>
  Stream.runCollect(Stream.take(Stream.splitLines(Stream.decodeText(stdout)), count))

/** The cases on processes that run beside the programs of a sandbox. */
export const cases: ReadonlyArray<Case.Case> = [
  Case.make(
    "process: it answers over its streams, exits when its input ends, and says how",
    starts(Effect.gen(function*() {
      const place = yield* Case.open({ role: "agent", runtime: "shell" })
      const started = yield* place.handle.start(["sh", "-c", "cat | tr a-z A-Z; echo log >&2; exit 3"])
      yield* Case.expectEqual("stdout", yield* answer(started, "one", "two"), "ONE\nTWO\n")
      const outcome = yield* started.outcome
      yield* Case.expectOutcome(outcome, Outcome.is("Exited")(outcome) && outcome.code === 3, "exit code 3")
      yield* Case.expectEqual("stderr", Outcome.text(outcome.stderr), "log\n")
    }))
  ),
  Case.make(
    "process: it keeps running while programs of its sandbox run, past the limit on wall time, and shares their files",
    starts(Effect.gen(function*() {
      const place = yield* Case.open({
        role: "agent",
        runtime: "shell",
        files: SandboxFiles.make({ "given.txt": "given" }),
        limits: { wall: "1 second" }
      })
      const started = yield* place.handle.start(shell)
      const said = yield* Effect.forkScoped(firstLines(started, 2))
      const told = Stream.concat(
        Stream.make("cat given.txt; echo; echo from the process > a.txt; sleep 1.5; echo later"),
        Stream.fromEffectDrain(Effect.never)
      )
      yield* Effect.forkScoped(Stream.run(Stream.encodeText(Stream.map(told, (line) => `${line}\n`)), started.stdin))
      const wait = "while [ ! -e a.txt ]; do sleep 0.05; done; cat a.txt"
      yield* Case.expectPrinted(yield* place.handle.exec({ argv: ["sh", "-c", wait] }), "from the process")
      yield* Case.expectEqual("lines", (yield* Fiber.join(said)).join(), "given,later")
    }))
  ),
  Case.make(
    "process: a grader's starts from the files of its spec, and writes for itself alone",
    starts(Effect.gen(function*() {
      const place = yield* Case.open({
        role: "grader",
        runtime: "shell",
        files: SandboxFiles.make({ "given.txt": "given" })
      })
      const started = yield* place.handle.start(shell)
      yield* Case.expectEqual(
        "stdout",
        yield* answer(started, "cat given.txt; echo > own.txt; ls"),
        "givengiven.txt\nown.txt\n"
      )
      yield* Case.expectPrinted(yield* place.handle.exec({ argv: ["ls"] }), "given.txt")
    }))
  ),
  Case.make(
    "process: a command that does not exist exits with 127",
    starts(Effect.gen(function*() {
      const place = yield* Case.open({ role: "agent", runtime: "shell" })
      const outcome = yield* Effect.flatMap(place.handle.start(["no-such-command"]), ({ outcome }) => outcome)
      yield* Case.expectOutcome(outcome, Outcome.is("Exited")(outcome) && outcome.code === 127, "exit code 127")
    }))
  ),
  Case.make(
    "process: it ends when its scope closes, with what it started, whether its output was read or not",
    starts(Effect.gen(function*() {
      const place = yield* Case.open({ role: "agent", runtime: "shell" })
      const size = Effect.map(place.handle.read("beats"), (bytes) => bytes?.length ?? 0)
      const beat = "while true; do echo >> beats; echo unread; sleep 0.05; done"
      const outcome = yield* Effect.scoped(Effect.gen(function*() {
        const started = yield* place.handle.start(["sh", "-c", `(${beat}) & ${beat}`])
        yield* Effect.repeat(size, { until: (found) => found > 1 })
        return started.outcome
      }))
      yield* Case.expectTag(yield* outcome, "Killed")
      const found = yield* size
      yield* Effect.sleep("300 millis")
      yield* Case.expectEqual("beats", yield* size, found)
    }))
  ),
  Case.make(
    "process: it ends with its sandbox, and none starts in one that was closed",
    starts(Effect.gen(function*() {
      const scope = yield* Scope.make()
      const place = yield* Scope.provide(Case.open({ role: "agent", runtime: "shell" }), scope)
      const started = yield* place.handle.start(["sh", "-c", "yes"])
      yield* Scope.close(scope, Exit.void)
      yield* Case.expectTag(yield* started.outcome, "Killed")
      yield* Case.expectRefusal(Effect.scoped(place.handle.start(shell)), "Lost")
    }))
  ),
  Case.make(
    "process: its standard error is limited, and its standard output waits for a reader",
    starts(Effect.gen(function*() {
      const limits = { output: 10_000 }
      const place = yield* Case.open({ role: "agent", runtime: "shell", limits })
      const loud = yield* place.handle.start(["sh", "-c", "yes >&2"])
      const outcome = yield* loud.outcome
      yield* Case.expectOutcome(outcome, Outcome.is("OutputLimit")(outcome) && outcome.of === "stderr", "OutputLimit")
      yield* Case.expectEqual("bytes of stderr", outcome.stderr.length, limits.output)
      const long = yield* place.handle.start(["sh", "-c", "head -c 200000 /dev/zero"])
      yield* Effect.sleep("300 millis")
      const length = yield* Stream.runFold(long.stdout, () => 0, (sum, bytes) => sum + bytes.length)
      yield* Case.expectEqual("bytes of stdout", length, 200_000)
      yield* Case.expectTag(yield* long.outcome, "Exited")
    }))
  ),
  Case.make(
    "process: what is written after its end fails as Lost",
    starts(Effect.gen(function*() {
      const place = yield* Case.open({ role: "agent", runtime: "shell" })
      const started = yield* place.handle.start(["true"])
      yield* started.outcome
      const endless = Stream.run(Stream.forever(Stream.make(new Uint8Array(100_000))), started.stdin)
      yield* Case.expectRefusal(endless, "Lost")
    }))
  ),
  Case.make(
    "process: it has the same boundary as a program",
    Case.where(
      (service) => service.capabilities.start === true && Case.isConfined(service),
      Effect.gen(function*() {
        const place = yield* Case.open({ role: "agent", runtime: "shell" })
        const script = "for file in /etc/passwd /root /home; do test -e $file && echo $file; done; "
          + "set -- /proc/[0-9]*; echo $#; id -u; ls /sys/class/net 2>/dev/null | grep -v '^lo$'; exit 0"
        const started = yield* place.handle.start(["sh", "-c", script])
        const own = yield* place.handle.exec({ argv: ["sh", "-c", script] })
        yield* Case.expectEqual("what it sees", yield* answer(started), Outcome.text(own.stdout))
      })
    )
  ),
  Case.make(
    "process: a provider without them refuses to start one",
    Case.where(
      ({ capabilities }) => capabilities.start !== true,
      Effect.gen(function*() {
        const place = yield* Case.open({ role: "agent" })
        yield* Case.expectRefusal(Effect.scoped(place.handle.start(shell)), "Unsupported")
      })
    )
  )
]
