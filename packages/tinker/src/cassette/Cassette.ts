/** Records a backend once and replays it later without an API key or network. */
import { Tinker } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import { CassetteError } from "./CassetteError.ts"
import * as Deck from "./Deck.ts"
import * as EntryFile from "./EntryFile.ts"
import * as PlayedTinker from "./PlayedTinker.ts"
import * as Recorder from "./Recorder.ts"
import * as Tape from "./Tape.ts"

export { CassetteError }

/**
 * Replays the recording in `file`. A call that is not in the recording fails as `Unrecorded` and reports how the nearest recorded call
 * differs. A training client is `Closed` after such a call.
 *
 * @example
 * const answer = Tinker.Tinker.use((tinker) => tinker.models).pipe(Effect.provide(Cassette.layer("test/models.cassette")))
 */
export const layer = (file: string): Layer.Layer<Tinker.Tinker, CassetteError, FileSystem.FileSystem> =>
  Layer.effect(
    Tinker.Tinker,
    Effect.map(EntryFile.read(file), (entries) => PlayedTinker.make(Deck.replaying(Tape.make(file, entries))))
  )

/**
 * Wraps the provided backend and writes each answer to `file` before returning it. Existing content of the file is overwritten. The
 * recording of an interrupted run can be replayed up to its last answer.
 */
export const layerRecord = (
  file: string
): Layer.Layer<Tinker.Tinker, CassetteError, Tinker.Tinker | FileSystem.FileSystem | Path.Path> =>
  Layer.effect(
    Tinker.Tinker,
    Effect.gen(function*() {
      const live = yield* Tinker.Tinker
      return PlayedTinker.make(Deck.recording(yield* Recorder.make(file), live))
    })
  )
