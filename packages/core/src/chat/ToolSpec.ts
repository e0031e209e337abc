/** The description of a tool for a model. */
import type * as Schema from "effect/Schema"

/**
 * `parameters` is a JSON schema; its keys are written in the order given. @see tinker-cookbook `ToolSpec`
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
