/** The description of a tool that a model may call. */
import type * as Schema from "effect/Schema"

/**
 * A tool that is described to a model. `parameters` is a JSON schema, whose keys are written in the given order.
 *
 * @see tinker-cookbook `ToolSpec`
 *
 * @example
 * const clock: ToolSpec.ToolSpec = {
 *   name: "clock",
 *   description: "The time of a city",
 *   parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
 * }
 */
export interface ToolSpec {
  readonly name: string
  readonly description: string
  readonly parameters: Schema.JsonObject
}
