/** Opens a run and appends until it is killed; prints each step once it is acknowledged. */
import { RunStore } from "@effect-rl/core"
import { RunDirectory } from "@effect-rl/files"
import { Effect } from "effect"
import { writeSync } from "node:fs"
import * as Files from "../support/Files.ts"

const appendForever = Effect.gen(function*() {
  const store = yield* RunStore.RunStore
  for (let step = 0;; step++) {
    yield* store.append("metrics", { step, text: "x".repeat(step % 1000) })
    writeSync(1, `${step}\n`)
  }
})

Effect.runFork(
  appendForever.pipe(Effect.provide(RunDirectory.layer(process.argv[2] ?? "")), Effect.provide(Files.layer))
)
