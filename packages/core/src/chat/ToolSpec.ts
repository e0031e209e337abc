/** A tool as a model is told of it. */
import type * as Schema from "effect/Schema"

/** `parameters` is a JSON schema; its keys are written in the order given. @see tinker-cookbook `ToolSpec` */
export interface ToolSpec {
  readonly name: string
  readonly description: string
  readonly parameters: Schema.JsonObject
}
