/**
 * A repository of the hub, at a revision.
 *
 * @example
 * const pinned = Repository.dataset("openai/gsm8k", "e53f048856ff4f594e959d75785d2c2d37b678ee")
 */
export interface Repository {
  readonly type: "model" | "dataset"
  /** Such as `openai/gsm8k`. */
  readonly name: string
  /** A commit (40 hexadecimal digits), or a branch or tag, which stands for the commit that it had at its first use. */
  readonly revision: string
}

export const model = (name: string, revision = "main"): Repository => ({ type: "model", name, revision })

export const dataset = (name: string, revision = "main"): Repository => ({ type: "dataset", name, revision })

export const isCommit = (revision: string): boolean => /^[0-9a-f]{40}$/.test(revision)

/** The repository in messages, in the form of the hub's addresses. */
export const show = ({ name, revision, type }: Repository): string =>
  `${type === "dataset" ? "datasets/" : ""}${name}@${revision}`
