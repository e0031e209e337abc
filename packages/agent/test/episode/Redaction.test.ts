import * as Redaction from "@effect-rl/agent/episode/Redaction"
import type { Score } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"

const address = "http://127.0.0.1:4711"

describe("redaction", () => {
  it("removes a session's address and key from a text", () => {
    const redact = Redaction.of(address, "sEcReT")
    assert.strictEqual(
      redact(`${address}/s/sEcReT/v1 ${address}/v1 127.0.0.1:4711 Bearer sEcReT`),
      "http://agent.invalid/v1 http://agent.invalid/v1 agent.invalid Bearer session"
    )
  })

  it("removes them from all texts of a score, and keeps its numbers", () => {
    const score: Score.Score = {
      value: 0.5,
      success: false,
      answer: "sEcReT",
      explanation: "sEcReT!",
      parts: { tests: 1 },
      verdict: { provider: "here", outcome: "sEcReT" }
    }
    assert.deepStrictEqual(Redaction.score(Redaction.of(address, "sEcReT"), score), {
      ...score,
      answer: "session",
      explanation: "session!",
      verdict: { provider: "here", outcome: "session" }
    })
  })
})
