/** Tests eval files, each in its own process, because their imports are resolved by a Node hook that vitest does not call. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"
import * as CommandLine from "../CommandLine.ts"
import { launch } from "../Launch.ts"

const file = (name: string) => fileURLToPath(new URL(`./files/${name}.eval.mjs`, import.meta.url))

const mock = ["--backend", "mock"]

describe("an eval file", () => {
  it.live("is evaluated as written, and its requests reach the model", () =>
    Effect.gen(function*() {
      const { code, errors, out } = yield* launch(["eval", file("capitals"), ...mock])
      assert.strictEqual(code, 0, errors)
      assert.match(out, /questions {2}1, 1 answers/)
    }))

  it.live("is trained on", () =>
    Effect.gen(function*() {
      const folder = yield* CommandLine.runFolder
      const short = ["--iterations", "2", "--groups-per-batch", "2", "--group-size", "2", "--log-path", folder]
      const { code, errors } = yield* launch(["train", file("capitals"), ...mock, ...short])
      assert.strictEqual(code, 0, errors)
    }).pipe(Effect.provide(NodeServices.layer)))

  it.live("gives no reward, rather than 0, if a scorer fails", () =>
    Effect.gen(function*() {
      const { out } = yield* launch(["eval", file("broken"), ...mock])
      assert.match(out, /questions {2}1, 0 answers/)
      assert.notMatch(out, /^reward/m)
      assert.include(out, "no reward: scorer 2 gave the error no key")
    }))

  it.live("has its own evals when several files are loaded at the same time", () =>
    Effect.gen(function*() {
      const program = fileURLToPath(new URL("./files/overlapping.ts", import.meta.url))
      const { errors, out } = yield* launch([], { program })
      const [capitals, broken] = ["Capitals, Variants [short], Variants [long]", "Broken"]
      assert.deepStrictEqual(out.trim().split("\n"), [capitals, broken, capitals, broken], errors)
    }))

  it.live.each([
    { name: "unscored", detail: "\"Unscored\" has no scorers, so there is nothing to learn from" },
    { name: "nothing", detail: "it registers no eval with evalite or describeEval" }
  ])("is refused with what is wrong: $name", ({ detail, name }) =>
    Effect.gen(function*() {
      const { code, errors } = yield* launch(["eval", file(name), ...mock])
      assert.strictEqual(code, 1)
      assert.include(errors, detail)
    }))
})
