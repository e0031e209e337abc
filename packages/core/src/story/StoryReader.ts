/** Reads the story of a recorded run. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as RunRecord from "../records/RunRecord.ts"
import type { RunError, RunReader } from "../records/RunStore.ts"
import * as Recorded from "./Recorded.ts"
import * as Story from "./Story.ts"

/**
 * Reads the story of all records written so far. It contains no payloads and no datums.
 *
 * @example
 * const reader = yield* RunDirectory.open("runs/sums")
 * const done = Story.done(yield* StoryReader.read(reader))
 */
export const read = (run: Pick<RunReader, "read">): Effect.Effect<Story.Story, RunError> =>
  Stream.runFold(run.read, () => Story.empty(), (story, record) => Story.add(story, Recorded.make(record)))

/** The complete records so far, with payload locations and datums; abandoned records are left out. */
export const records = (
  run: Pick<RunReader, "read">
): Effect.Effect<ReadonlyArray<RunRecord.RunRecord>, RunError> =>
  Effect.map(Stream.runCollect(run.read), RunRecord.current)
