/**
 * Why a file of a Hub repository could not be read.
 *
 * @example
 * const file = Hub.Hub.use((hub) => hub.file(Repository.model("Qwen/Qwen3-8B"), "tokenizer.json")).pipe(
 *   Effect.retry({ times: 3, while: (error) => error.isRetryable })
 * )
 */
import * as Schema from "effect/Schema"

/** The repository, revision or file does not exist, or it is private and no token grants access. */
export class NotFound extends Schema.TaggedError<NotFound>()("NotFound", { detail: Schema.String }) {}

/** The repository is private or gated, or the token is invalid. */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()("Unauthorized", { detail: Schema.String }) {}

/** The file or revision is not cached, and the Hub cannot be reached or `HF_HUB_OFFLINE` is set. */
export class Offline extends Schema.TaggedError<Offline>()("Offline", { detail: Schema.String }) {}

/** The Hub answered with an error status that no other reason covers, or without a valid commit. */
export class Unavailable extends Schema.TaggedError<Unavailable>()("Unavailable", { detail: Schema.String }) {}

/** The transfer broke off, or the received bytes differ from what the Hub announced. */
export class Corrupt extends Schema.TaggedError<Corrupt>()("Corrupt", { detail: Schema.String }) {}

/** The cache folder cannot be read or written. */
export class CacheFailed extends Schema.TaggedError<CacheFailed>()("CacheFailed", { detail: Schema.String }) {}

export const HubReason = Schema.Union([NotFound, Unauthorized, Offline, Unavailable, Corrupt, CacheFailed])
export type HubReason = typeof HubReason.Type

/** A file or commit cannot be read from the Hub or its cache. */
export class HubError extends Schema.TaggedError<HubError>()("HubError", {
  /** The repository's name and revision, such as `Qwen/Qwen3-8B@main`, followed by the file's path if the error concerns a file. */
  resource: Schema.String,
  reason: HubReason
}) {
  override get message() {
    return `${this.resource}: ${this.reason.detail}`
  }

  /** Whether another attempt may succeed: true for `Unavailable` and `Corrupt`. */
  get isRetryable() {
    return this.reason._tag === "Unavailable" || this.reason._tag === "Corrupt"
  }
}
