/** What `config.json` of a run directory says, and how older formats become today's. */
import { RunStore } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** The migration at index i turns format i + 1 into format i + 2. */
const migrations: ReadonlyArray<(manifest: RunStore.JsonObject) => RunStore.JsonObject> = []

/** The format this version writes. */
export const current = migrations.length + 1

export const Manifest = Schema.Struct({
  format: Schema.Int,
  /** How often the run was opened for writing, this time included. */
  segment: Schema.Int,
  config: Schema.optionalKey(Schema.JsonObject)
})
export interface Manifest extends Schema.Schema.Type<typeof Manifest> {}

const Versioned = Schema.StructWithRest(
  Schema.Struct({ format: Schema.Int.check(Schema.isGreaterThan(0)) }),
  [Schema.JsonObject]
)

/** Errors name the file and what to do. */
export const decode = Effect.fnUntraced(
  function*(run: string, file: string, text: string) {
    const versioned = yield* Schema.decodeUnknownEffect(Schema.fromJsonString(Versioned))(text)
    if (versioned.format > current) {
      return yield* new RunStore.RunError({
        run,
        detail: `${file} has format ${versioned.format}, this version reads up to ${current}: update effect-rl`
      })
    }
    const migrated = migrations.slice(versioned.format - 1).reduce<RunStore.JsonObject>(
      (manifest, migrate) => migrate(manifest),
      versioned
    )
    return yield* Schema.decodeUnknownEffect(Manifest)({ ...migrated, format: current })
  },
  (effect, run, file) =>
    Effect.catchTag(effect, "SchemaError", (error) =>
      Effect.fail(
        new RunStore.RunError({
          run,
          detail: `${file} does not describe a run (${error.message}): restore it or choose another directory`
        })
      ))
)

export const encode = (manifest: Manifest): string => `${JSON.stringify(manifest, null, 2)}\n`
