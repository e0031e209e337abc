/** Hides the secrets of one agent, its session's address and key, from texts that others read. */
import type { Score } from "@effect-rl/core"

/** Replaces secrets in a text with harmless words. */
export type Redact = (text: string) => string

/** A reserved host name that replaces a session's host. */
export const host = "agent.invalid"

/** Redacts nothing; for places without secrets. */
export const none: Redact = (text) => text

/**
 * Redacts a session at a server address.
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

/** The score with the secrets in its texts replaced. */
export const score = (redact: Redact, { answer, explanation, verdict, ...others }: Score.Score): Score.Score => ({
  ...others,
  ...(answer !== undefined && { answer: redact(answer) }),
  ...(explanation !== undefined && { explanation: redact(explanation) }),
  ...(verdict !== undefined && { verdict: { ...verdict, outcome: redact(verdict.outcome) } })
})
