/** Processes that do not answer as the backend's Python process does. Commands that wait for them must fail. */
import * as PythonProcess from "@effect-rl/torch/process/PythonProcess"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Path, Schema } from "effect"

/** The bytes of a frame as an argument for the shell's `printf`. */
const frame = (header: string) =>
  [header.length, 0, 0, 0, 0, 0, 0, 0].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("") + header

const ready = frame(`{"id":0,"vocabulary":9,"contextLength":8,"endsOfSequence":[],"hasTokenizer":false,"arrays":[]}`)

/** The result of a command whose process prints this text at its start and then keeps running. */
const answerOf = (printed: string) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const { join } = yield* Path.Path
    const program = join(yield* fs.makeTempDirectoryScoped(), "python")
    yield* fs.writeFileString(program, `#!/bin/sh\nprintf '${printed}'\nexec cat > /dev/null\n`)
    yield* fs.chmod(program, 0o755)
    const { ask } = yield* PythonProcess.make(program, {})
    return yield* ask(Schema.Struct({ loss: Schema.Number }), { op: "pass" })
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
      assert.include(message, "the Python process wrote what is no answer: ")
      assert.include(message, said)
    }))
})
