/** Records calls and their answers as they complete. */
import { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import * as Result from "effect/Result"
import * as Semaphore from "effect/Semaphore"
import type * as Call from "./Call.ts"
import { CassetteError } from "./CassetteError.ts"
import * as Entry from "./Entry.ts"

/** The answer to a call, and the name of the object that it made. */
export interface Recorded<out A> {
  readonly id: string
  readonly value: A
}

export interface Recorder {
  /**
   * Runs `live` and records its `answer` before returning it. An interrupted call is not recorded. Fails as `Closed` if recording cannot
   * continue.
   */
  readonly record: <A, B, R>(
    call: Call.Call<A>,
    live: Effect.Effect<B, TinkerError.TinkerError, R>,
    answer: (value: B) => A
  ) => Effect.Effect<Recorded<B>, TinkerError.TinkerError, R>
}

const unwritable = (file: string) => ({ message }: PlatformError) =>
  new CassetteError({ file, detail: `cannot be written: ${message}` })

/** Truncates the file and writes the header. The file consists of whole lines unless a write fails or the process dies during a write. */
export const make = Effect.fnUntraced(function*(file: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const permits = yield* Semaphore.make(1)
  const counts = new Map<string, number>()
  let brokenBecause: string | undefined

  const handle = yield* fs.makeDirectory(path.dirname(file), { recursive: true }).pipe(
    Effect.andThen(fs.open(file, { flag: "w" })),
    Effect.mapError(unwritable(file))
  )

  const write = (line: string) =>
    handle.writeAll(new TextEncoder().encode(`${line}\n`)).pipe(
      Effect.mapError(unwritable(file)),
      Effect.tapError((error) =>
        Effect.sync(() => {
          brokenBecause = error.message
        })
      )
    )

  /** Stops recording after a failed write, so nothing is appended to a partial line. */
  const append = (line: string) =>
    Effect.suspend(() => brokenBecause === undefined ? write(line) : Effect.void).pipe(
      Effect.uninterruptible,
      permits.withPermit
    )

  const whole = (operation: string) =>
    Effect.suspend(() =>
      brokenBecause === undefined ? Effect.void : Effect.fail(
        new TinkerError.TinkerError({ operation, reason: new TinkerError.Closed({ detail: brokenBecause }) })
      )
    )

  const number = (key: string) =>
    Effect.sync(() => {
      const ordinal = counts.get(key) ?? 0
      counts.set(key, ordinal + 1)
      return ordinal
    })

  const record: Recorder["record"] = Effect.fnUntraced(function*(call, live, answer) {
    const { key, operation } = call
    yield* whole(operation.name)
    const ordinal = yield* number(key)
    const result = yield* Effect.result(live)
    const line = yield* Entry.encode(call, ordinal, Result.map(result, answer))
    yield* Effect.ignore(append(line))
    yield* whole(operation.name)
    return { id: Entry.id(key, ordinal), value: yield* Effect.fromResult(result) }
  })

  yield* append(Entry.header)
  const recorder: Recorder = { record }
  return recorder
})
