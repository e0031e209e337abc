/**
 * Measures how much sooner a verdict comes if bubblewrap sets up the sandbox before the program arrives. Two providers judge the same
 * program in turns; one of them never has a free permit to set up a sandbox in advance. The argument is the number of pairs.
 */
import { Sandbox, SandboxFiles } from "@effect-rl/sandbox"
import { Context, Effect, Layer } from "effect"
import * as Report from "../Report.ts"

const pairs = Number(process.argv[2] ?? 300)

/** Time between verdicts, in which a sandbox can be set up. */
const pause = "30 millis"

/** Opens a sandbox and runs its first program. Returns the effect that runs another one and measures it in milliseconds. */
const judge = Effect.fnUntraced(function*(concurrency: number) {
  const context = yield* Layer.build(Sandbox.Sandbox.layerBubblewrap({ concurrency }))
  const place = yield* Context.get(context, Sandbox.Sandbox).open({
    runtime: "python",
    role: "grader",
    files: SandboxFiles.make({ "main.py": "print(sum(map(int, input().split())))" })
  })
  const verdict = Effect.gen(function*() {
    yield* Effect.sleep(pause)
    const start = performance.now()
    yield* place.exec({ argv: ["python3", "main.py"], stdin: "2 3" })
    return performance.now() - start
  })
  yield* verdict
  return verdict
})

const measured = await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
  const [arriving, advance] = [yield* judge(1), yield* judge(2)]
  return yield* Effect.forEach(Array.from({ length: pairs }, (_, index) => index), (index) =>
    index % 2 === 0
      ? Effect.all({ arriving, advance })
      : Effect.all({ advance, arriving }))
})))

const millis = (values: ReadonlyArray<number>) => `${Report.median(values).toFixed(0)} ms`

Report.publish("sandbox-prepared", "Verdicts of sandboxes that are set up in advance", [
  `${pairs} pairs of verdicts on a program that adds two numbers, one after another, in bubblewrap. The members of a pair run in turns, so
other load on the machine affects both.`,
  Report.table(["the sandbox is set up", "one verdict, median"], [
    ["when the program arrives", millis(measured.map(({ arriving }) => arriving))],
    ["in advance", millis(measured.map(({ advance }) => advance))]
  ]),
  `In the median pair, the sandbox that was set up in advance takes **${
    Report.median(measured.map(({ advance, arriving }) => advance / arriving)).toFixed(2)
  }** of the other's time. If all permits are in use, no sandbox is set up in advance, so [the rate of verdicts](sandbox.md) does not change.`
])
