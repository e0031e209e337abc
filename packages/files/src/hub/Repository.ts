/**
 * A Hub repository at a revision.
 *
 * @example
 * const pinned = Repository.dataset("openai/gsm8k", "e53f048856ff4f594e959d75785d2c2d37b678ee")
 */
export interface Repository {
  readonly type: "model" | "dataset"
  /** The owner and the name, such as `openai/gsm8k`. */
  readonly name: string
  /** A commit (40 hexadecimal digits), a branch or a tag. A branch or tag stays pinned to the commit that it had on first use. */
  readonly revision: string
}

/** A model repository, by default at the branch `main`. */
export const model = (name: string, revision = "main"): Repository => ({ type: "model", name, revision })

/** A dataset repository, by default at the branch `main`. */
export const dataset = (name: string, revision = "main"): Repository => ({ type: "dataset", name, revision })

/** Whether a revision is a full commit hash: 40 lowercase hexadecimal digits. */
export const isCommit = (revision: string): boolean => /^[0-9a-f]{40}$/.test(revision)

/** The repository's name and revision for messages, such as `datasets/openai/gsm8k@main`. */
export const show = ({ name, revision, type }: Repository): string =>
  `${type === "dataset" ? "datasets/" : ""}${name}@${revision}`
