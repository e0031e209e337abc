/** What to do if a response cannot be parsed. */
import * as Message from "../../chat/Message.ts"
import type * as Renderer from "../../chat/Renderer.ts"
import * as Check from "../../settings/Check.ts"

/**
 * A response that did not end properly ends the episode. A response that ended properly but whose tool calls cannot be parsed is answered
 * with `retryMessage`, at most `maxConsecutive` times in a row.
 *
 * @example
 * const policy: ParseErrorPolicy.ParseErrorPolicy = { maxConsecutive: 3, penaltyPerError: 0.1, maskErrorTurns: true }
 *
 * @see tinker-cookbook `ParseErrorPolicy`
 */
export interface ParseErrorPolicy {
  /** Maximum number of responses in a row that are answered with `retryMessage`. Default: 0. */
  readonly maxConsecutive?: number
  /** Text of the answer. It must contain `{details}`, which is replaced with the error's description. Default: `defaultRetryMessage`. */
  readonly retryMessage?: string
  /** Subtracted from the reward for each answered turn. Default: 0. */
  readonly penaltyPerError?: number
  /** Reward of the turn that ends the episode because its response cannot be parsed. Default: 0. */
  readonly terminalReward?: number
  /** Whether turns whose response cannot be parsed are kept out of training. Default: false. */
  readonly maskErrorTurns?: boolean
}

const details = "{details}"

/** The default answer to a response whose tool calls cannot be parsed. */
export const defaultRetryMessage =
  `Your last message could not be read:\n${details}\nPlease answer again in the right format.`

/** The message that describes the error and asks for another try. */
export const correction = (self: ParseErrorPolicy, { detail }: Renderer.Failure): Message.Message =>
  Message.user((self.retryMessage ?? defaultRetryMessage).replaceAll(details, () => detail))

/** Checks the fields of the policy. */
export const checks = (self: ParseErrorPolicy): ReadonlyArray<Check.Check> => [
  Check.option("parseErrors.maxConsecutive", self.maxConsecutive, Check.whole(0)),
  Check.option("parseErrors.retryMessage", self.retryMessage, {
    expected: `a text that holds ${details}`,
    accepts: (text) => text.includes(details)
  }),
  Check.option("parseErrors.penaltyPerError", self.penaltyPerError, Check.number({ least: 0 })),
  Check.option("parseErrors.terminalReward", self.terminalReward, Check.number())
]
