/** A preset whose tokenizer writes every byte as a token of its own. Its weights know single bytes, as they know other tokens. */
import * as Preset from "@effect-rl/engine/Preset"
import { Effect, FileSystem, Path, Schema } from "effect"

const Definition = Schema.fromJsonString(Schema.StructWithRest(
  Schema.Struct({
    model: Schema.StructWithRest(Schema.Struct({ merges: Schema.Array(Schema.Unknown) }), [
      Schema.Record(Schema.String, Schema.Unknown)
    ])
  }),
  [Schema.Record(Schema.String, Schema.Unknown)]
))

/** Copies the preset's folder, and removes all merges from its tokenizer. Returns the folder, which exists until the scope closes. */
export const make = Effect.fnUntraced(function*(preset: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const from = yield* path.fromFileUrl(Preset.folders.get(preset) ?? new URL(preset))
  const folder = yield* fs.makeTempDirectoryScoped()
  yield* fs.copy(from, folder, { overwrite: true })
  const file = path.join(folder, "tokenizer.json")
  const definition = yield* Schema.decodeEffect(Definition)(yield* fs.readFileString(file))
  const without = { ...definition, model: { ...definition.model, merges: [] } }
  yield* fs.writeFileString(file, yield* Schema.encodeEffect(Definition)(without))
  return folder
})
