/** Processes that do not answer as the backend's Python process does. Commands that wait for them must fail. */
import * as PythonProcess from "@effect-rl/torch/process/PythonProcess"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Path, Schedule, Schema } from "effect"

/** The bytes of a frame as an argument for the shell's `printf`. */
const frame = (header: string) =>
  [header.length, 0, 0, 0, 0, 0, 0, 0].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("") + header

const ready = frame(`{"id":0,"vocabulary":9,"contextLength":8,"endsOfSequence":[],"hasTokenizer":false,"arrays":[]}`)

/** A program that writes its process id to the file `pid`, runs these lines of shell and then keeps running. */
const programOf = Effect.fnUntraced(function*(...lines: ReadonlyArray<string>) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const folder = yield* fs.makeTempDirectoryScoped()
  const [program, pid] = [join(folder, "python"), join(folder, "pid")]
  yield* fs.writeFileString(program, ["#!/bin/sh", `echo $$ > ${pid}`, ...lines, "exec cat > /dev/null", ""].join("\n"))
  yield* fs.chmod(program, 0o755)
  return { program, pid }
})

const pass = { op: "pass" }
const Passed = Schema.Struct({ loss: Schema.Number })

/** The error of a command whose process prints this text at its start and then keeps running. */
const answerOf = (printed: string) =>
  Effect.gen(function*() {
    const { program } = yield* programOf(`printf '${printed}'`)
    const { ask } = yield* PythonProcess.make(program, {})
    return yield* ask(Passed, pass)
  }).pipe(Effect.flip, Effect.map(({ message }) => message), Effect.scoped, Effect.provide(NodeServices.layer))

describe("a process", () => {
  it.live.each([
    { what: "prints text in place of frames", printed: "Loading the model, please wait", said: "Loading the model" },
    {
      what: "answers a number that is not finite",
      printed: `${ready}${frame(`{"id":1,"loss":NaN,"arrays":[]}`)}`,
      said: "JSON"
    },
    { what: "answers without its arrays", printed: `${ready}${frame(`{"id":1,"loss":1}`)}`, said: "" },
    {
      what: "answers fewer numbers than it says",
      printed: `${ready}${frame(`{"id":1,"loss":1,"arrays":[["a","f",9]]}`)}`,
      said: ""
    }
  ])("that $what fails waiting commands", ({ printed, said }) =>
    Effect.gen(function*() {
      const message = yield* answerOf(printed)
      assert.include(message, "the Python process wrote something other than an answer: ")
      assert.include(message, said)
    }))

  it.live("that writes an invalid frame is ended while its backend is still in use", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const { pid, program } = yield* programOf(
        `printf '${ready}'`,
        "head -c 1 > /dev/null",
        "printf 'Loading the model, please wait'"
      )
      const { ask } = yield* PythonProcess.make(program, {})
      yield* Effect.flip(ask(Passed, pass))
      const process = Number(yield* fs.readFileString(pid))
      const isGone = Effect.try({ try: () => globalThis.process.kill(process, 0), catch: () => "gone" as const })
      assert.strictEqual(yield* Effect.flip(Effect.repeat(isGone, Schedule.spaced("20 millis"))), "gone")
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)))
})
