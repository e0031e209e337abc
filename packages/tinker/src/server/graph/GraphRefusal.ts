/** Why a loss graph is refused, and at which node; `graph` refers to the graph as a whole. */
export class GraphRefusal extends Error {
  readonly node: string
  readonly detail: string
  /** Whether the refusal is due to cost, so a smaller evaluation may succeed. */
  readonly isTooCostly: boolean
  constructor(node: string, detail: string, isTooCostly = false) {
    super(`${node}: ${detail}`)
    this.node = node
    this.detail = detail
    this.isTooCostly = isTooCostly
  }
}
