/** A file system on which a file appears to grow by one byte between any two accesses, as if another process were writing it. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { ByteSize, Effect, FileSystem, Layer } from "effect"

/** The bytes before `from` are visible at the first access. */
export const layer = (from: number) =>
  Layer.effect(
    FileSystem.FileSystem,
    Effect.map(FileSystem.FileSystem, (fs) => {
      let seen = from
      const short = (info: FileSystem.File.Info): FileSystem.File.Info => ({
        ...info,
        size: ByteSize.bytes(Math.min(seen, ByteSize.toNumberUnsafe(info.size)))
      })
      const growing = (file: FileSystem.File): FileSystem.File => ({
        [FileSystem.FileTypeId]: FileSystem.FileTypeId,
        stat: Effect.tap(Effect.map(file.stat, short), () => Effect.sync(() => void seen++)),
        sync: file.sync,
        seek: (offset, from) => file.seek(offset, from),
        read: (buffer, options) => file.read(buffer, options),
        readAlloc: (size, options) => file.readAlloc(size, options),
        truncate: (length) => file.truncate(length),
        write: (bytes) => file.write(bytes),
        writeAll: (bytes) => file.writeAll(bytes)
      })
      return FileSystem.FileSystem.of({ ...fs, open: (path, options) => Effect.map(fs.open(path, options), growing) })
    })
  ).pipe(Layer.provide(NodeFileSystem.layer))
