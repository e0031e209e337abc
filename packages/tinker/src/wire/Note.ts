/** Names and metadata that clients give to sessions, models and checkpoints, limited in length because servers store them. */
import * as Predicate from "effect/Predicate"
import * as Record from "effect/Record"
import * as Schema from "effect/Schema"

export const Name = Schema.String.check(Schema.isMaxLength(1000))

/** Maximum number of characters in all keys and texts of one object's metadata. */
const mostCharacters = 16_384

const isShort = Schema.makeFilter(
  (metadata: Readonly<Record<string, unknown>>) =>
    Object.entries(metadata).reduce(
      (sum, [key, value]) => sum + key.length + (typeof value === "string" ? value.length : 0),
      0
    ) <= mostCharacters,
  { expected: `at most ${mostCharacters} characters` }
)

export const Metadata = Schema.Record(Schema.String, Schema.String).check(isShort)

/** Metadata with values of any type; only text values are kept. */
export const LooseMetadata = Schema.Record(Schema.String, Schema.Unknown).check(isShort)

export const texts = (metadata: typeof LooseMetadata.Type | null | undefined): typeof Metadata.Type =>
  Record.filter(metadata ?? {}, Predicate.isString)
