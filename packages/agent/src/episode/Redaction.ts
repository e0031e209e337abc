/** What was handed out to one agent, and is to stand nowhere that others read: the address of its session, and its key. */
import type { Score } from "@effect-rl/core"

/** The text with harmless words in the place of secrets. */
export type Redact = (text: string) => string

/** No address of any network, in the place of a session's. */
export const host = "agent.invalid"

/** Redacts nothing, where nothing that was handed out is a secret. */
export const none: Redact = (text) => text

/**
 * Redacts a session of the server at an address.
 *
 * @example
 * Redaction.of("http://127.0.0.1:8000", "secret")("asked http://127.0.0.1:8000/s/secret/v1") // "asked http://agent.invalid/v1"
 */
export const of = (address: string, session: string): Redact => {
  const words: ReadonlyArray<readonly [secret: string, word: string]> = [
    [`${address}/s/${session}`, `http://${host}`],
    [session, "session"],
    [address, `http://${host}`],
    [address.replace(/^https?:\/\//, ""), host]
  ]
  return (text) => words.reduce((redacted, [secret, word]) => redacted.replaceAll(secret, word), text)
}

/** The texts of a score. */
export const score = (redact: Redact, { answer, explanation, verdict, ...others }: Score.Score): Score.Score => ({
  ...others,
  ...(answer !== undefined && { answer: redact(answer) }),
  ...(explanation !== undefined && { explanation: redact(explanation) }),
  ...(verdict !== undefined && { verdict: { ...verdict, outcome: redact(verdict.outcome) } })
})
