import { Tokenizer } from "@effect-rl/core/renderers"
import { Hub, HubError, HuggingFace } from "@effect-rl/files"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { fileURLToPath } from "node:url"
import * as Files from "../support/Files.ts"

const fixtures = fileURLToPath(new URL("../fixtures/tokenizer", import.meta.url))

/** A Hub with a single repository, the one in the fixtures. */
const makeHub = (asked: Array<string>, missing: ReadonlyArray<string> = []) =>
  Layer.mock(Hub.Hub, {
    file: ({ name, revision }, file) => {
      asked.push(`${name}@${revision} ${file}`)
      return name === "org/model" && !missing.includes(file)
        ? Effect.succeed(`${fixtures}/${file}`)
        : Effect.fail(
          new HubError.HubError({ resource: name, reason: new HubError.NotFound({ detail: "no such file" }) })
        )
    }
  })

const withTokenizers = <A, E, R>(
  hub: Layer.Layer<Hub.Hub>,
  use: (tokenizers: Tokenizer.Tokenizers["Service"]) => Effect.Effect<A, E, R>
) => Effect.provide(Tokenizer.Tokenizers.use(use), Layer.provide(HuggingFace.layerNoDeps, hub), { local: true })

layer(Files.layer)("HuggingFace", (it) => {
  it.effect("loads a repository's tokenizer once", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      yield* withTokenizers(makeHub(asked), (tokenizers) =>
        Effect.gen(function*() {
          const [one, same] = yield* Effect.all([tokenizers.load("org/model"), tokenizers.load("org/model")], {
            concurrency: 2
          })
          assert.strictEqual(one, same)
          assert.strictEqual(one.decode(one.encode("What is 2+2?")), "What is 2+2?")
        }))
      assert.deepStrictEqual(asked, [
        "org/model@main tokenizer.json",
        "org/model@main tokenizer_config.json",
        "org/model@main chat_template.jinja"
      ])
    }))

  it.effect("requests the revision after @", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      yield* withTokenizers(makeHub(asked), (tokenizers) => tokenizers.load("org/model@v2"))
      assert.strictEqual(asked[0], "org/model@v2 tokenizer.json")
    }))

  it.effect("loads a folder without asking the Hub", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const tokenizer = yield* withTokenizers(makeHub(asked), (tokenizers) => tokenizers.load(fixtures))
      assert.strictEqual(tokenizer.eosTokenId, 451)
      assert.deepStrictEqual(asked, [])
    }))

  it.effect("allows a repository without a configuration", () =>
    withTokenizers(makeHub([], ["tokenizer_config.json"]), (tokenizers) => tokenizers.load("org/model")))

  it.effect("reports a name that is neither a folder nor a repository, and asks again the next time", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      yield* withTokenizers(makeHub(asked), (tokenizers) =>
        Effect.gen(function*() {
          const error = yield* Effect.flip(tokenizers.load("org/other"))
          assert.strictEqual(error._tag, "TokenizerError")
          assert.include(
            error.message,
            `tokenizer "org/other": there is no folder of that name, and org/other: no such file`
          )
          assert.include(error.message, "Name a folder that holds tokenizer.json")
          yield* Effect.flip(tokenizers.load("org/other"))
        }))
      assert.strictEqual(asked.length, 4)
    }))
})
