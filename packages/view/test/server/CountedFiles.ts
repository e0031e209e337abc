/** A file system that counts how often files are checked and read. */
import { Effect, FileSystem } from "effect"

export interface CountedFiles {
  readonly of: (fs: FileSystem.FileSystem) => FileSystem.FileSystem
  /** Number of checks of files and their contents so far. */
  readonly looks: () => number
  /** Number of reads from open files so far. */
  readonly reads: () => number
  /** Number of checks that have not completed. */
  readonly pending: () => number
}

export const make = (): CountedFiles => {
  let looks = 0
  let reads = 0
  let pending = 0
  const counted = <A, E, R>(look: Effect.Effect<A, E, R>) =>
    Effect.suspend(() => {
      looks++
      pending++
      return Effect.ensuring(look, Effect.sync(() => void pending--))
    })
  const read = <A, E, R>(look: Effect.Effect<A, E, R>) =>
    Effect.suspend(() => {
      reads++
      return counted(look)
    })
  const opened = (file: FileSystem.File): FileSystem.File => ({
    [FileSystem.FileTypeId]: FileSystem.FileTypeId,
    stat: counted(file.stat),
    sync: file.sync,
    seek: (offset, from) => file.seek(offset, from),
    read: (buffer, options) => read(file.read(buffer, options)),
    readAlloc: (size, options) => read(file.readAlloc(size, options)),
    truncate: (length) => file.truncate(length),
    write: (bytes) => file.write(bytes),
    writeAll: (bytes) => file.writeAll(bytes)
  })
  return {
    looks: () => looks,
    reads: () => reads,
    pending: () => pending,
    of: (fs) =>
      FileSystem.FileSystem.of({
        ...fs,
        stat: (path) => counted(fs.stat(path)),
        readFileString: (path, encoding) => counted(fs.readFileString(path, encoding)),
        open: (path, options) => counted(Effect.map(fs.open(path, options), opened))
      })
  }
}
