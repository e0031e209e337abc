/**
 * Why a file of a hub repository could not be read.
 *
 * @example
 * const file = Hub.Hub.use((hub) => hub.file(Repository.model("Qwen/Qwen3-8B"), "tokenizer.json")).pipe(
 *   Effect.retry({ times: 3, while: (error) => error.isRetryable })
 * )
 */
import * as Schema from "effect/Schema"

/** The repository, revision or file does not exist, or it is private and there is no token that can read it. */
export class NotFound extends Schema.TaggedError<NotFound>()("NotFound", { detail: Schema.String }) {}

/** The repository is private or gated, or the token is not valid. */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()("Unauthorized", { detail: Schema.String }) {}

/** The file is not in the cache, and the hub cannot be reached or `HF_HUB_OFFLINE` is set. */
export class Offline extends Schema.TaggedError<Offline>()("Offline", { detail: Schema.String }) {}

/** The hub answered with a failure of its own. */
export class Unavailable extends Schema.TaggedError<Unavailable>()("Unavailable", { detail: Schema.String }) {}

/** The bytes that arrived are not those that the hub announced. */
export class Corrupt extends Schema.TaggedError<Corrupt>()("Corrupt", { detail: Schema.String }) {}

/** The cache folder cannot be read or written. */
export class CacheFailed extends Schema.TaggedError<CacheFailed>()("CacheFailed", { detail: Schema.String }) {}

export const HubReason = Schema.Union([NotFound, Unauthorized, Offline, Unavailable, Corrupt, CacheFailed])
export type HubReason = typeof HubReason.Type

export class HubError extends Schema.TaggedError<HubError>()("HubError", {
  /** The repository's name, or a file of it. */
  resource: Schema.String,
  reason: HubReason
}) {
  override get message() {
    return `${this.resource}: ${this.reason.detail}`
  }

  get isRetryable() {
    return this.reason._tag === "Unavailable" || this.reason._tag === "Corrupt"
  }
}
