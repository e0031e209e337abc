/** Loads tokenizers by a Hub model's name or from a folder. */
import { Tokenizer } from "@effect-rl/core/renderers"
import * as Cache from "effect/Cache"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import { Hub } from "../hub/Hub.ts"
import type { HubError } from "../hub/HubError.ts"
import * as Repository from "../hub/Repository.ts"
import * as HuggingFaceTokenizer from "./HuggingFaceTokenizer.ts"

const refused = (id: string) => (error: HubError) =>
  Effect.fail(
    new Tokenizer.TokenizerError({
      tokenizer: id,
      detail: `there is no folder of that name, and ${error.message}. ` +
        "Name a folder that holds tokenizer.json and tokenizer_config.json, or a model of the hub as organization/name"
    })
  )

/** Parses a model's name, with an optional `@revision`; default revision `main`. */
const repositoryOf = (id: string) => {
  const [name = "", revision] = id.split("@", 2)
  return Repository.model(name, revision)
}

/** Downloads a repository's tokenizer files and returns their folder. The configuration and the template are optional. */
const fromHub = Effect.fnUntraced(function*(id: string) {
  const hub = yield* Hub
  const path = yield* Path.Path
  const repository = repositoryOf(id)
  const file = yield* hub.file(repository, "tokenizer.json").pipe(
    Effect.catchReason(
      "HubError",
      "NotFound",
      (_, error) => hub.file(repository, HuggingFaceTokenizer.rankFile).pipe(Effect.mapError(() => error))
    )
  )
  for (const beside of ["tokenizer_config.json", HuggingFaceTokenizer.templateFile]) {
    yield* hub.file(repository, beside).pipe(Effect.catchReason("HubError", "NotFound", () => Effect.void))
  }
  return path.dirname(file)
}, (effect, id) => Effect.catchTag(effect, "HubError", refused(id)))

const load = Effect.fnUntraced(function*(id: string) {
  const fs = yield* FileSystem.FileSystem
  const isFolder = yield* Effect.orElseSucceed(fs.exists(id), () => false)
  return yield* HuggingFaceTokenizer.fromFolder(isFolder ? id : yield* fromHub(id))
})

const make = Effect.gen(function*() {
  const context = yield* Effect.context<Hub | FileSystem.FileSystem | Path.Path>()
  const tokenizers = yield* Cache.makeWith(load, {
    capacity: 16,
    timeToLive: (exit) => Exit.isSuccess(exit) ? Duration.infinity : Duration.zero
  })
  return Tokenizer.Tokenizers.of({
    load: Effect.fn("HuggingFace.load")((id) => Effect.provideContext(Cache.get(tokenizers, id), context))
  })
})

/**
 * Loads a tokenizer from the folder with the given name if there is one, otherwise from the Hub or its cache. Keeps up to 16 tokenizers in
 * memory. `load` fails with `TokenizerError`.
 */
export const layerNoDeps: Layer.Layer<Tokenizer.Tokenizers, never, Hub | FileSystem.FileSystem | Path.Path> = Layer
  .effect(Tokenizer.Tokenizers, make)

/**
 * `layerNoDeps` with the Hub that the environment configures.
 *
 * @example
 * const ids = Tokenizer.Tokenizers.use(({ load }) => load("Qwen/Qwen3-8B")).pipe(
 *   Effect.map((tokenizer) => tokenizer.encode("2 + 2")),
 *   Effect.provide(HuggingFace.layer)
 * )
 */
export const layer = Layer.provide(layerNoDeps, Hub.layer)
