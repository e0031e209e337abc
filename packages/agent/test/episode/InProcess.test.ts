/** The `fetch` of an agent's session in this process. */
import { AgentEnv } from "@effect-rl/agent"
import { Rollout } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Talk from "./Talk.ts"

/** Plays an agent whose model always answers "It is 2.". */
const played = Effect.fnUntraced(function*(run: (session: AgentEnv.Session) => Promise<number>) {
  const env = yield* AgentEnv.make({ model: yield* Talk.modelOf("qwen3_instruct"), run })
  const { policy } = Talk.saying(...Array.from({ length: 6 }, () => "It is 2."))
  return yield* Rollout.episode(env, policy, Talk.key)
}, Effect.scoped)

const body = JSON.stringify({ model: Talk.name, messages: [{ role: "user", content: "Add 1 and 1." }] })

describe("the fetch of a session in this process", () => {
  it.effect("answers a text with headers in any form and a Request alike", () =>
    Effect.gen(function*() {
      const { transitions } = yield* played(async ({ baseUrl, fetch }) => {
        const url = `${baseUrl}/chat/completions`
        const post = { method: "POST", body }
        const responses = [
          await fetch(url, post),
          await fetch(new URL(url), { ...post, headers: [["x-trace", "1"]] }),
          await fetch(url, { ...post, headers: { "X-Trace": "1" } }),
          await fetch(url, { ...post, headers: new Headers({ "x-trace": "1" }) }),
          await fetch(url, { ...post, body: new TextEncoder().encode(body) }),
          await fetch(new Request(url, post))
        ]
        for (const response of responses) {
          assert.strictEqual(response.status, 200)
          assert.include(await response.text(), "It is 2.")
        }
        return 1
      })
      assert.lengthOf(transitions, 6)
    }))

  it.effect("answers a retried request with the first answer, if a header in any form says so", () =>
    Effect.gen(function*() {
      const { transitions } = yield* played(async ({ baseUrl, fetch }) => {
        const url = `${baseUrl}/chat/completions`
        const first = await fetch(url, { method: "POST", body })
        const retries = [
          { "X-Stainless-Retry-Count": "1" },
          [["x-stainless-retry-count", "1"] as [string, string]],
          new Headers({ "x-stainless-retry-count": "1" })
        ]
        assert.include(await first.text(), "It is 2.")
        for (const headers of retries) {
          assert.include(await (await fetch(url, { method: "POST", body, headers })).text(), "It is 2.")
        }
        return 1
      })
      assert.lengthOf(transitions, 1)
    }))

  it.effect("answers an unknown path with 404 and an aborted request with 499", () =>
    Effect.gen(function*() {
      yield* played(async ({ baseUrl, fetch }) => {
        assert.strictEqual((await fetch(`${baseUrl}/nothing`, { method: "POST", body })).status, 404)
        const signal = AbortSignal.abort()
        assert.strictEqual((await fetch(`${baseUrl}/chat/completions`, { method: "POST", body, signal })).status, 499)
        return 1
      })
    }))
})
