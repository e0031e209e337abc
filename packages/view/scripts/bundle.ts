/** Writes the page's script into dist, for the published package. */
import * as PageFiles from "@effect-rl/view/server/PageFiles"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, FileSystem, Path } from "effect"

Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const dist = yield* path.fromFileUrl(new URL("../dist/", import.meta.url))
  yield* fs.makeDirectory(dist, { recursive: true })
  yield* fs.writeFileString(path.join(dist, "page.js"), yield* PageFiles.bundle)
}).pipe(Effect.provide(NodeServices.layer), NodeRuntime.runMain)
