/** Real files in a temporary folder. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import { FileSystem, Layer } from "effect"

export const layer = Layer.mergeAll(NodeFileSystem.layer, NodePath.layer)

/** A temporary folder that is removed when the test's scope closes. */
export const temporaryFolder = FileSystem.FileSystem.use((fs) => fs.makeTempDirectoryScoped({ prefix: "effect-rl-" }))

export const writeFile = (path: string, content: string) =>
  FileSystem.FileSystem.use((fs) => fs.writeFileString(path, content))

export const readFile = (path: string) => FileSystem.FileSystem.use((fs) => fs.readFileString(path))

export const writeBytes = (path: string, content: Uint8Array) =>
  FileSystem.FileSystem.use((fs) => fs.writeFile(path, content))
