/** Runs that pages follow. New records are polled, read and decoded once per run, however many pages follow it. */
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
  /** Whether a process is writing the run: the current value, then each change. */
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
  /** Follows the run, which stays open until the last follower's scope closes. */
  readonly follow: (run: string) => Effect.Effect<Followed, RunStore.RunError, Scope.Scope>
}>()("@effect-rl/view/FollowedRuns") {
  static readonly layer = Layer.effect(FollowedRuns, make)
}
