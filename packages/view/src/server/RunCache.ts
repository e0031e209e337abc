/** What the records of runs tell, kept until their files change. */
import type { RunRecord, RunStore } from "@effect-rl/core"
import { RunDirectory } from "@effect-rl/files"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import type * as Entry from "../story/Entry.ts"
import * as Story from "../story/Story.ts"

/** The record as the page receives it. */
export const entry = (record: RunRecord.RunRecord): Entry.Entry => {
  if (record._tag !== "Credited") return record
  const { datums: _, ...credited } = record
  return credited
}

export interface Told {
  readonly reader: RunStore.RunReader
  readonly story: Story.Story
  /** A process holds the run open. */
  readonly isWritten: boolean
}

/** What the records of a run tell. */
export const story = (reader: RunStore.RunReader): Effect.Effect<Story.Story, RunStore.RunError> =>
  Stream.runFold(reader.read, Story.empty, (story, record) => Story.add(story, entry(record)))

/** Runs whose records are kept, as a page reads the same run again and again. */
const kept = 8

const make = Effect.gen(function*() {
  const context = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
  const known = new Map<string, { readonly stamp: string; readonly told: Told }>()

  const read = Effect.fn("RunCache.read")(function*(run: string) {
    const reader = yield* RunDirectory.open(run)
    const fs = yield* FileSystem.FileSystem
    const { mtime, size } = yield* Effect.orDie(fs.stat((yield* Path.Path).join(run, "records.jsonl")))
    const isWritten = yield* RunDirectory.isHeld(run)
    const stamp = JSON.stringify([String(size), mtime])
    const before = known.get(run)
    const told: Told = before?.stamp === stamp
      ? { ...before.told, isWritten }
      : { reader, story: yield* story(reader), isWritten }
    known.delete(run)
    known.set(run, { stamp, told })
    for (const oldest of known.keys()) if (known.size > kept) known.delete(oldest)
    return told
  }, Effect.provideContext(context))

  return RunCache.of({ read })
})

/** Reads runs. */
export class RunCache extends Context.Service<RunCache, {
  readonly read: (run: string) => Effect.Effect<Told, RunStore.RunError>
}>()("@effect-rl/view/RunCache") {
  static readonly layer = Layer.effect(RunCache, make)
}
