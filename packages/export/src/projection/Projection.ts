/** A whole run in the format of another tool. */
import type { RunStore } from "@effect-rl/core"
import { AtomicFile, FileFailure } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import type * as Path from "effect/Path"
import { PlatformError } from "effect/PlatformError"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type * as Conversation from "../run/Conversation.ts"
import * as Rollouts from "../run/Rollouts.ts"

/** The files of another tool cannot be written. */
export class ProjectionError extends Schema.TaggedError<ProjectionError>()("ProjectionError", {
  file: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${this.file}: ${this.detail}`
  }
}

export interface Options {
  /** Gives texts where an environment logged none; without it, only what was logged is written. */
  readonly decode?: Conversation.Decode | undefined
}

/**
 * Writes the run to the path, a file or a folder as the format has it. Anything that is there already is replaced.
 *
 * @example
 * const keys: Projection.Projection = (run, out) =>
 *   Projection.writeLines(out, Projection.eachMember(run, () => ({ group, member }) => ({ key: group.record.key, member })))
 */
export type Projection = (
  run: RunStore.RunReader,
  out: string,
  options?: Options
) => Effect.Effect<void, ProjectionError | Rollouts.Error, FileSystem.FileSystem | Path.Path>

/** Replaces a file by the bytes. */
export const writeFile = <E, R>(file: string, content: Stream.Stream<Uint8Array, E, R>) =>
  Effect.mapError(
    AtomicFile.write(file, content),
    (error) =>
      error instanceof PlatformError ? new ProjectionError({ file, detail: FileFailure.describe("it", error) }) : error
  )

/** Replaces a file by the text. */
export const writeText = (file: string, text: string) => writeFile(file, Stream.encodeText(Stream.succeed(text)))

/** JSON text on a line; numbers that JSON lacks are null. */
export const line = (value: unknown): string => `${JSON.stringify(value)}\n`

/** Replaces a file by one line of JSON for each value. */
export const writeLines = <E, R>(file: string, values: Stream.Stream<unknown, E, R>) =>
  writeFile(file, Stream.encodeText(Stream.map(values, line)))

/** One value for each member that finished, batch by batch. */
export const eachMember = (
  run: RunStore.RunReader,
  of: (batch: Rollouts.Batch) => (member: Rollouts.Member) => unknown
): Stream.Stream<unknown, Rollouts.Error> =>
  Stream.flatMap(
    Rollouts.stream(run),
    ([batch, groups]) => Stream.fromIterable(groups.flatMap(Rollouts.members).map(of(batch)))
  )
