/** A file system whose disk is full at the n-th write: half of the bytes are written, then the write fails with ENOSPC. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { Effect, FileSystem, Layer, PlatformError } from "effect"

export interface Fault {
  /** The number of the failing operation, from 1. Creating, writing, syncing, linking, renaming and truncating are counted. */
  readonly at: number
  /** Whether all later operations fail too, including truncation. */
  readonly lasts: boolean
  /** Called at each failing operation. */
  readonly onFault?: () => void
}

const diskFull = PlatformError.systemError({
  _tag: "Unknown",
  module: "FileSystem",
  method: "write",
  cause: Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" })
})

const half = (bytes: Uint8Array) => bytes.subarray(0, bytes.length >> 1)

export const layer = (fault: Fault) =>
  Layer.effect(
    FileSystem.FileSystem,
    Effect.map(FileSystem.FileSystem, (fs) => {
      let count = 0
      const guarded = <A, R>(
        whole: Effect.Effect<A, PlatformError.PlatformError, R>,
        partial: Effect.Effect<unknown, PlatformError.PlatformError, R> = Effect.void
      ) =>
        Effect.suspend(() => {
          count++
          const fails = fault.lasts ? count >= fault.at : count === fault.at
          if (!fails) return whole
          fault.onFault?.()
          return Effect.andThen(partial, Effect.fail(diskFull))
        })
      const guardedFile = (file: FileSystem.File): FileSystem.File => ({
        [FileSystem.FileTypeId]: FileSystem.FileTypeId,
        stat: file.stat,
        sync: guarded(file.sync),
        seek: (offset, from) => file.seek(offset, from),
        read: (buffer, options) => file.read(buffer, options),
        readAlloc: (size, options) => file.readAlloc(size, options),
        truncate: (length) => guarded(file.truncate(length)),
        write: (bytes) => guarded(file.write(bytes), file.write(half(bytes))),
        writeAll: (bytes) => guarded(file.writeAll(bytes), file.writeAll(half(bytes)))
      })
      return FileSystem.FileSystem.of({
        ...fs,
        makeDirectory: (path, options) => guarded(fs.makeDirectory(path, options)),
        makeTempDirectoryScoped: (options) => guarded(fs.makeTempDirectoryScoped(options)),
        open: (path, options) => Effect.map(fs.open(path, options), guardedFile),
        link: (from, to) => guarded(fs.link(from, to)),
        rename: (from, to) => guarded(fs.rename(from, to)),
        writeFile: (path, bytes, options) =>
          guarded(fs.writeFile(path, bytes, options), fs.writeFile(path, half(bytes), options))
      })
    })
  ).pipe(Layer.provide(NodeFileSystem.layer))
