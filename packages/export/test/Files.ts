import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import { Effect, FileSystem, Layer, Path } from "effect"

export const layer = Layer.merge(NodeFileSystem.layer, NodePath.layer)

/** A path in its own folder, which is removed with the scope. */
export const place = (name: string) =>
  Effect.gen(function*() {
    const folder = yield* FileSystem.FileSystem.use((fs) => fs.makeTempDirectoryScoped())
    return (yield* Path.Path).join(folder, name)
  })

export const read = (file: string) => FileSystem.FileSystem.use((fs) => fs.readFileString(file))

/** Decodes a JSON lines file as values of the caller's type. */
export const lines = <A>(file: string) =>
  Effect.map(
    read(file),
    (text): ReadonlyArray<A> => text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line))
  )
