/** Why a loss graph is not computed, and at which node; `graph` stands for the graph as a whole. */
export class Refusal extends Error {
  readonly node: string
  readonly detail: string
  constructor(node: string, detail: string) {
    super(`${node}: ${detail}`)
    this.node = node
    this.detail = detail
  }
}
