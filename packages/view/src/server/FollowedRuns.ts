/** Runs that pages follow. However many pages follow a run, its new records are looked for, read and decoded for one. */
import type { RunStore } from "@effect-rl/core"
import { RunDirectory } from "@effect-rl/files"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import * as RcMap from "effect/RcMap"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

export interface Followed {
  readonly reader: RunStore.RunReader
  /** Whether a process writes the run: now, and whenever that changes. */
  readonly isWritten: Stream.Stream<boolean>
}

const lookAtLock = "2 seconds"

const open = Effect.fnUntraced(function*(run: string) {
  const context = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
  const isHeld = Effect.provideContext(RunDirectory.isHeld(run), context)
  const later = yield* Stream.tick(lookAtLock).pipe(
    Stream.mapEffect(() => isHeld),
    Stream.broadcast({ capacity: 1, strategy: "sliding" })
  )
  const followed: Followed = {
    reader: yield* RunDirectory.openShared(run),
    isWritten: Stream.changes(Stream.concat(Stream.fromEffect(isHeld), later))
  }
  return followed
})

const make = Effect.gen(function*() {
  const runs = yield* RcMap.make({ lookup: open })
  return FollowedRuns.of({ follow: (run) => RcMap.get(runs, run) })
})

export class FollowedRuns extends Context.Service<FollowedRuns, {
  /** The run, which stays open until the last scope that follows it closes. */
  readonly follow: (run: string) => Effect.Effect<Followed, RunStore.RunError, Scope.Scope>
}>()("@effect-rl/view/FollowedRuns") {
  static readonly layer = Layer.effect(FollowedRuns, make)
}
