/** How a run was started: by which command, with which settings, on which machine. */
import * as Schema from "effect/Schema"

/** A setting as it was resolved, beside its default. */
export const Chosen = Schema.Struct({
  name: Schema.String,
  value: Schema.Json,
  /** Absent where the setting may be left out. */
  default: Schema.optionalKey(Schema.Json),
  unit: Schema.optionalKey(Schema.String)
})
export interface Chosen extends Schema.Schema.Type<typeof Chosen> {}

export const Launch = Schema.Struct({
  /** The name of the recipe, or the module that has it. */
  recipe: Schema.String,
  /** The command line, quoted for a shell. */
  command: Schema.String,
  /** The folder in which it was typed. */
  directory: Schema.String,
  machine: Schema.Struct({
    /** Operating system and architecture. */
    system: Schema.String,
    processor: Schema.String,
    cores: Schema.Int,
    /** Bytes. */
    memory: Schema.Finite
  }),
  /** Versions of what ran, by name. */
  versions: Schema.Record(Schema.String, Schema.String),
  settings: Schema.Array(Chosen)
})

/**
 * The launch of a segment of a run, as its `Opened` record keeps it.
 *
 * @example
 * const names = (launch: Launch.Launch) => launch.settings.map(({ name }) => name)
 */
export interface Launch extends Schema.Schema.Type<typeof Launch> {}
