/** How a run was started: the command, the settings and the machine. */
import * as Schema from "effect/Schema"

/** A resolved setting and its default. */
export const Chosen = Schema.Struct({
  name: Schema.String,
  value: Schema.Json,
  /** The setting's default; absent if it has none. */
  default: Schema.optionalKey(Schema.Json),
  unit: Schema.optionalKey(Schema.String)
})
export interface Chosen extends Schema.Schema.Type<typeof Chosen> {}

export const Launch = Schema.Struct({
  /** The recipe's name, or the module that exports it. */
  recipe: Schema.String,
  /** The command line, quoted for a shell. */
  command: Schema.String,
  /** The working directory of the command. */
  directory: Schema.String,
  machine: Schema.Struct({
    /** Operating system and architecture. */
    system: Schema.String,
    processor: Schema.String,
    cores: Schema.Int,
    /** The main memory, in bytes. */
    memory: Schema.Finite
  }),
  /** Package and runtime versions, by name. */
  versions: Schema.Record(Schema.String, Schema.String),
  settings: Schema.Array(Chosen)
})

/**
 * How a segment of a run was started; stored in its `Opened` record.
 *
 * @example
 * const names = (launch: Launch.Launch) => launch.settings.map(({ name }) => name)
 */
export interface Launch extends Schema.Schema.Type<typeof Launch> {}
