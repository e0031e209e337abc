/** An invalid option, usually reported before the first request. */
import * as Schema from "effect/Schema"

/**
 * An option with an invalid value. `field` names the option by its path, such as `sampling.maxTokens`.
 *
 * @example
 * new InvalidOption.InvalidOption({ field: "groupSize", found: "0", expected: "a whole number of at least 1" }).message
 * // "groupSize is 0, expected a whole number of at least 1"
 */
export class InvalidOption extends Schema.TaggedError<InvalidOption>()("InvalidOption", {
  field: Schema.String,
  found: Schema.String,
  expected: Schema.String
}) {
  override get message() {
    return `${this.field} is ${this.found}, expected ${this.expected}`
  }
}
