/** Detects ES modules that Node would load as CommonJS. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"

const Package = Schema.fromJsonString(Schema.Struct({ type: Schema.optionalKey(Schema.String) }))

/** The type in the nearest package.json, or "module" if none sets it, because Node then detects the syntax. */
const typeAbove = (folder: string): Effect.Effect<string, never, FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const text = yield* Effect.option(fs.readFileString(path.join(folder, "package.json")))
    if (Option.isSome(text)) {
      const { type = "module" } = yield* Effect.orElseSucceed(
        Schema.decodeEffect(Package)(text.value),
        () => ({ type: "module" })
      )
      return type
    }
    const above = path.dirname(folder)
    return above === folder ? "module" : yield* typeAbove(above)
  })

/**
 * Whether Node fails to load a file because its package is CommonJS: the file's extension leaves the kind open, and the file imports or
 * exports.
 */
export const isMistaken = Effect.fnUntraced(function*(file: string) {
  if (!/\.[jt]s$/.test(file)) return false
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  if ((yield* typeAbove(path.dirname(path.resolve(file)))) !== "commonjs") return false
  const text = yield* Effect.orElseSucceed(fs.readFileString(file), () => "")
  return /^(?:import\s(?!type\b)|export\s(?!type\b|interface\b))/m.test(text)
})
