import { AgentScorer } from "@effect-rl/recipes"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Path } from "effect"

const outcome = { task: { answer: "4" }, stdout: "4", stderr: "", exitCode: 1 }

const read = (file: string) => AgentScorer.fromFile(file, (text) => text)

/** Writes a file with this text, and keeps it while the effect runs. */
const withFile = <A, E, R>(name: string, text: string, use: (file: string) => Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const { join } = yield* Path.Path
    const file = join(yield* fs.makeTempDirectoryScoped(), name)
    yield* fs.writeFileString(file, text)
    return yield* use(file)
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))

const scored = (text: string) =>
  withFile("score.mjs", text, (file) => Effect.flatMap(AgentScorer.fromModule(file), (scorer) => scorer(outcome, "0")))

describe("an agent's scorer", () => {
  it.effect("calls a module's function, which returns a reward, a score or a promise", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* scored("export default ({ stdout, task }) => Number(stdout === task.answer)"), {
        value: 1
      })
      assert.deepStrictEqual(yield* scored("export default async () => ({ value: 0.5, success: false })"), {
        value: 0.5,
        success: false
      })
    }))

  it.effect("reads the file that the agent writes", () =>
    Effect.gen(function*() {
      const score = yield* withFile("verdict.json", `{"value": 0.25, "parts": {"tests": 3}}`, read)
      assert.deepStrictEqual(score, { value: 0.25, parts: { tests: 3 } })
    }))

  it.effect("gives no verdict on failure, or if the value is neither a finite number nor a score", () =>
    Effect.gen(function*() {
      const functions = ["() => NaN", "() => 'good'", "() => ({ success: true })", "() => { throw Error('no') }"]
      const errors = yield* Effect.forEach(functions, (text) => Effect.flip(scored(`export default ${text}`)))
      assert.deepStrictEqual(errors.map(({ _tag }) => _tag), Array.from({ length: 4 }, () => "NoVerdict"))
      assert.include(errors[1]?.message, `gave "good", expected a finite number`)
      assert.include(errors[3]?.message, "the error no")
      const files = yield* Effect.forEach(
        ["", "1e999", "true"],
        (text) => Effect.flip(withFile("verdict.json", text, read))
      )
      assert.deepStrictEqual(files.map(({ _tag }) => _tag), ["NoVerdict", "NoVerdict", "NoVerdict"])
      const missing = yield* Effect.flip(withFile("x", "", (file) => read(`${file}/none`)))
      assert.include(missing.message, "it was not written")
    }))

  it.effect("is refused if the module exports no function", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(scored("export default 1"))
      assert.strictEqual(error._tag, "InvalidOption")
    }))
})
