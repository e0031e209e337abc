/** Opens a run and appends records. Prints each acknowledged sequence number and exits after the requested number. */
import { RunStore } from "@effect-rl/core"
import { RunDirectory } from "@effect-rl/files"
import { Effect } from "effect"
import { writeSync } from "node:fs"
import * as Files from "../support/Files.ts"
import * as Records from "../support/Records.ts"

const [, , run = "", count = "Infinity"] = process.argv

const appendAll = Effect.gen(function*() {
  const store = yield* RunStore.RunStore
  for (let index = 0; index < Number(count); index++) {
    const payload = JSON.stringify("x".repeat(index % 1000))
    yield* index % 10 === 0
      ? store.append(Records.updated(index))
      : store.append(Records.rolledOut(index, "ä"), payload)
    writeSync(1, `${index}\n`)
  }
  yield* store.append(Records.finished)
})

Effect.runFork(appendAll.pipe(Effect.provide(RunDirectory.layer(run)), Effect.provide(Files.layer)))
