#!/usr/bin/env node
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Stdio from "effect/Stdio"
import * as CtrlC from "./CtrlC.ts"
import * as Failure from "./Failure.ts"
import * as Invocation from "./Invocation.ts"
import * as Root from "./Root.ts"
import * as Signals from "./Signals.ts"

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

/** Standard output cannot be written to, for example because the disk is full. */
class NoOutput extends Schema.TaggedError<NoOutput>()("NoOutput", { detail: Schema.String }) {
  override get message() {
    return `cannot write to standard output: ${this.detail}`
  }
}

/** Waits until the reader of standard output is gone, for example because `head` has its lines. The program then ends as if interrupted. */
const outputClosed = Effect.callback<never, NoOutput>((resume) => {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    const isGone = error.code === "EPIPE" || error.code === "EIO"
    resume(isGone ? Effect.interrupt : Effect.fail(new NoOutput({ detail: error.message })))
  })
  // Errors are printed to stderr, so errors of stderr itself are ignored.
  process.stderr.on("error", () => {})
})

/** Pauses standard input. Otherwise it would keep the process alive once the program has read from it. */
const releaseInput = Effect.sync(() => process.stdin.pause())

program.pipe(
  Effect.raceFirst(outputClosed),
  Effect.ensuring(releaseInput),
  Failure.report,
  Effect.provideService(CtrlC.CtrlC, Signals.ctrlC),
  Effect.provide(Invocation.layer),
  Effect.provide(NodeServices.layer),
  Signals.runMain({ disableErrorReporting: true })
)
