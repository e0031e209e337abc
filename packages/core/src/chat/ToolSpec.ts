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

/** The tools that the first messages of a conversation describe to a model. */
export interface Offered {
  readonly tools: ReadonlyArray<ToolSpec>
  /** The number of messages, as a renderer wrote them, that describe the tools. */
  readonly messages: number
  /** The system prompt that those messages contain; absent if there is none. */
  readonly systemPrompt?: string
}
