/** Requests of eval files. These tests replace the global `fetch`, so they need a process of their own. */
import * as EvalRequests from "@effect-rl/recipes/evals/EvalRequests"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

interface Seen {
  readonly url: string
  readonly key: string | null
  readonly model: unknown
}

/** A fetch that records its requests. */
const noting = (seen: Array<Seen>): typeof fetch => async (input, init) => {
  const request = new Request(input, init)
  const text = await request.text()
  const model: unknown = text === "" ? undefined : JSON.parse(text).model
  seen.push({ url: request.url, key: request.headers.get("authorization"), model })
  return Response.json({})
}

const outside: Array<Seen> = []

/** The options of requests that leave the eval's session. They are recorded because a `Request` does not keep all of them. */
const options = new Set<unknown>()

const asker = (session: string, seen: Array<Seen>) => ({
  session: {
    baseUrl: `http://${session}/v1`,
    anthropicBaseUrl: `http://${session}`,
    apiKey: session,
    fetch: noting(seen)
  },
  modelOf: (asked: unknown) => asked === "judge" ? "judge" : "trained"
})

const post = (url: string, model: string) =>
  fetch(url, { method: "POST", body: JSON.stringify({ model }), headers: { authorization: "Bearer sk-theirs" } })

const routed = Effect.runSync(Effect.cached(Effect.suspend(() => {
  const fetch = noting(outside)
  globalThis.fetch = (input, init) => {
    options.add(init)
    return fetch(input, init)
  }
  return EvalRequests.route
})))

describe("the requests of an eval file", () => {
  it.effect("go to the session of their episode, whatever their address and model", () =>
    Effect.gen(function*() {
      yield* routed
      const seen: Array<Seen> = []
      yield* Effect.promise(() =>
        EvalRequests.as(asker("one", seen), async () => {
          await post("https://api.openai.com/v1/chat/completions", "gpt-4o-mini")
          await post("https://api.openai.com/v1/responses", "judge")
          await post("https://api.anthropic.com/v1/messages", "claude")
        })
      )
      const key = "Bearer one"
      assert.deepStrictEqual(seen, [
        { url: "http://one/v1/chat/completions", key, model: "trained" },
        { url: "http://one/v1/responses", key, model: "judge" },
        { url: "http://one/v1/messages", key, model: "trained" }
      ])
    }))

  it.effect("go to the right session when several episodes run at the same time", () =>
    Effect.gen(function*() {
      yield* routed
      const [one, other]: [Array<Seen>, Array<Seen>] = [[], []]
      const ask = async () => {
        await Promise.resolve()
        await post("https://openrouter.ai/api/v1/chat/completions", "any")
      }
      yield* Effect.promise(() =>
        Promise.all([EvalRequests.as(asker("one", one), ask), EvalRequests.as(asker("other", other), ask)])
      )
      assert.deepStrictEqual([one, other].map((seen) => seen.map(({ key }) => key)), [["Bearer one"], ["Bearer other"]])
    }))

  it.effect("are unchanged outside an episode, or if they do not address a language model", () =>
    Effect.gen(function*() {
      yield* routed
      const seen: Array<Seen> = []
      const before = outside.length
      yield* Effect.promise(() => post("https://api.openai.com/v1/chat/completions", "gpt-4o"))
      const init: RequestInit = {}
      yield* Effect.promise(() =>
        EvalRequests.as(asker("one", seen), () => fetch("https://example.com/data.json", init))
      )
      assert.isTrue(options.has(init))
      assert.deepStrictEqual(seen, [])
      assert.deepStrictEqual(outside.slice(before), [
        { url: "https://api.openai.com/v1/chat/completions", key: "Bearer sk-theirs", model: "gpt-4o" },
        { url: "https://example.com/data.json", key: null, model: undefined }
      ])
    }))
})
