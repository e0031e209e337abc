/** Why a loss graph is refused. */
import * as Schema from "effect/Schema"

/** The node where it happened is named, or `graph` where it is about the graph as a whole. */
export class LossGraphError extends Schema.TaggedError<LossGraphError>()("LossGraphError", {
  node: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `loss graph, ${this.node}: ${this.detail}`
  }
}
