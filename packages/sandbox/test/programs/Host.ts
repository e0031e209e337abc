/**
 * Runs endless programs, and started processes if supported, in sandboxes of the provider named by its argument. Prints a line once they
 * run.
 */
import { Sandbox } from "@effect-rl/sandbox"
import { Effect } from "effect"

const providers = {
  bubblewrap: Sandbox.Sandbox.layerBubblewrap(),
  wasi: Sandbox.Sandbox.layerWasi(),
  "unsafe-host": Sandbox.Sandbox.layerUnsafeHost()
}
const name = process.argv[2]
const provider = name === "wasi" || name === "unsafe-host" ? providers[name] : providers.bubblewrap

const endless = Effect.gen(function*() {
  const { capabilities, open } = yield* Sandbox.Sandbox
  const place = yield* open({ runtime: "python", role: "agent", limits: { wall: "10 minutes", cpu: "10 minutes" } })
  const program = place.exec({ argv: ["python3", "-c", "while True: pass"] })
  yield* Effect.forkChild(Effect.all([program, program], { concurrency: 2 }))
  if (capabilities.start === true) yield* place.start(["python3", "-c", "while True: pass"])
  yield* Effect.sleep("1 second")
  process.stdout.write("running\n")
  return yield* Effect.never
})

await Effect.runPromise(endless.pipe(Effect.scoped, Effect.provide(provider)))
