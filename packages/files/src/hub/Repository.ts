/**
 * A Hub repository at a revision.
 *
 * @example
 * const pinned = Repository.dataset("openai/gsm8k", "e53f048856ff4f594e959d75785d2c2d37b678ee")
 */
export interface Repository {
  readonly type: "model" | "dataset"
  /** Such as `openai/gsm8k`. */
  readonly name: string
  /** A commit (40 hexadecimal digits), a branch or a tag. A branch or tag stays pinned to the commit that it had on first use. */
  readonly revision: string
}

export const model = (name: string, revision = "main"): Repository => ({ type: "model", name, revision })

export const dataset = (name: string, revision = "main"): Repository => ({ type: "dataset", name, revision })

export const isCommit = (revision: string): boolean => /^[0-9a-f]{40}$/.test(revision)

/** The repository's name for messages, in the form of a Hub URL path. */
export const show = ({ name, revision, type }: Repository): string =>
  `${type === "dataset" ? "datasets/" : ""}${name}@${revision}`
