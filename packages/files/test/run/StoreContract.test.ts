/** A run directory satisfies the contract of durable run stores. */
import { RunDirectory } from "@effect-rl/files"
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Files from "../support/Files.ts"
import { withStore } from "../support/Records.ts"
import * as StoreContract from "../support/StoreContract.ts"

describe("a run directory", () => {
  it.live.each(StoreContract.rules)("%s", ([, rule]) =>
    Effect.gen(function*() {
      const run = yield* Files.temporaryFolder
      return yield* rule({ withStore: (use) => withStore(run, use), open: RunDirectory.open(run) })
    }).pipe(Effect.provide(Files.layer)))
})
