#!/usr/bin/env node
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Stdio from "effect/Stdio"
import * as Failure from "./Failure.ts"
import * as Invocation from "./Invocation.ts"
import * as Root from "./Root.ts"

const Manifest = Schema.fromJsonString(Schema.Struct({ version: Schema.String }))

const version = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const file = yield* path.fromFileUrl(new URL("../package.json", import.meta.url))
  return (yield* Schema.decodeUnknownEffect(Manifest)(yield* fs.readFileString(file))).version
})

const program = Effect.gen(function*() {
  const stdio = yield* Stdio.Stdio
  const run = Root.run(yield* version)
  yield* run(yield* stdio.args)
})

/** Whoever read our output is gone, as `head` after its lines: the run ends as if it was interrupted. */
const outputClosed = Effect.callback<never>((resume) => {
  process.stdout.on("error", () => resume(Effect.interrupt))
})

/** Standard input that was read from would keep the process waiting for more. */
const releaseInput = Effect.sync(() => process.stdin.pause())

program.pipe(
  Effect.raceFirst(outputClosed),
  Effect.ensuring(releaseInput),
  Failure.report,
  Effect.provide(Invocation.layer),
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain({ disableErrorReporting: true })
)
