import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Recorded from "../Recorded.ts"
import * as Served from "./Served.ts"

const about = ({ run, url }: Served.Served, path: string, more = "") =>
  `${url}/api/${path}?run=${encodeURIComponent(run)}${more}`

describe("ViewServer", () => {
  it.effect("lists the runs of a folder", () =>
    Effect.gen(function*() {
      const served = yield* Served.start
      const [line, ...others] = JSON.parse((yield* Served.get(`${served.url}/api/runs`)).text)
      assert.deepInclude(line, {
        run: served.run,
        program: "rl",
        model: "effect-rl/tiny-64",
        state: "completed",
        done: 2,
        iterations: 2,
        reward: 0.875,
        tokens: 60
      })
      assert.deepStrictEqual(others, [])
    }))

  it.effect("gives a run's records without the datums of its updates", () =>
    Effect.gen(function*() {
      const served = yield* Served.start
      const records: ReadonlyArray<Record<string, unknown>> = JSON.parse(
        (yield* Served.get(about(served, "records"))).text
      )
      assert.deepStrictEqual(records.map(({ sequence }) => sequence), records.map((_, index) => index))
      assert.isFalse(records.some((record) => "datums" in record))
      const updated = records.find(({ _tag }) => _tag === "Updated")
      assert.deepStrictEqual(updated?.["metrics"], { "optim/entropy": 0.5, "optim/lr": null })
    }))

  it.effect("streams records after a sequence number, or after the last one that a browser saw", () =>
    Effect.gen(function*() {
      const served = yield* Served.start
      const url = about(served, "events", "&after=12")
      const { headers, text } = yield* Served.get(url, {}, "Finished")
      assert.strictEqual(headers["content-type"], "text/event-stream")
      assert.match(text, /^id: 13\n/)
      const again = yield* Served.get(url, { "last-event-id": "13" }, "Finished")
      assert.match(again.text, /^id: 14\n/)
    }))

  it.effect("gives transcripts as JSON, whatever a model wrote", () =>
    Effect.gen(function*() {
      const served = yield* Served.start
      const { headers, text } = yield* Served.get(about(served, "transcript", `&sequence=${Recorded.firstGroup}`))
      assert.match(String(headers["content-type"]), /^application\/json/)
      const { members, rewards } = JSON.parse(text)
      assert.deepStrictEqual(rewards, [1, 0])
      const [turn] = members[1].turns
      assert.deepInclude(turn, { prompt: [1, 2, 3], tokens: [7, 8], logprobs: [-0.25, -2.5], reward: 0 })
      assert.strictEqual(turn.logs.response, Recorded.hostile)
    }))

  it.effect("allows only its own scripts and styles on every response", () =>
    Effect.gen(function*() {
      const { url } = yield* Served.start
      for (const path of ["/", "/assets/page.css", "/assets/page/Main.ts", "/api/runs"]) {
        const { headers, status } = yield* Served.get(`${url}${path}`)
        assert.strictEqual(status, 200, path)
        const policy = String(headers["content-security-policy"])
        assert.include(policy, "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'")
        assert.notInclude(policy, "unsafe")
        assert.strictEqual(headers["x-content-type-options"], "nosniff")
      }
    }))

  const foreign: ReadonlyArray<readonly [name: string, headers: Readonly<Record<string, string>>]> = [
    ["a rebound host name", { host: "attacker.example" }],
    ["a host name that only begins like this machine's", { host: "localhost.attacker.example" }],
    ["another origin", { origin: "https://attacker.example" }],
    ["another port of this machine", { origin: "http://localhost:1" }],
    ["a sandboxed frame", { origin: "null" }],
    ["a request of another site", { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" }]
  ]

  it.effect.each(foreign)("refuses %s", ([, headers]) =>
    Effect.gen(function*() {
      const served = yield* Served.start
      for (
        const url of [about(served, "records"), about(served, "events"), `${served.url}/api/runs`, `${served.url}/`]
      ) {
        const { status, text } = yield* Served.get(url, headers)
        assert.strictEqual(status, 403)
        assert.notInclude(text, served.run)
      }
    }))

  it.effect("opens no directory but the runs that it was given", () =>
    Effect.gen(function*() {
      const served = yield* Served.start
      for (const run of ["/etc", `${served.run}/..`, `${served.run}/`, ""]) {
        assert.strictEqual((yield* Served.get(about({ ...served, run }, "records"))).status, 404, run)
      }
      for (const path of ["page/../../package.json", "page/..%2fstory%2fStory.ts", "server/ViewServer.ts", "nothing"]) {
        assert.strictEqual((yield* Served.get(`${served.url}/assets/${path}`)).status, 404, path)
      }
    }))

  it.effect("says which record has no transcript, and which query it does not understand", () =>
    Effect.gen(function*() {
      const served = yield* Served.start
      const missing = yield* Served.get(about(served, "transcript", "&sequence=0"))
      assert.strictEqual(missing.status, 404)
      assert.include(missing.text, "record 0 of")
      assert.strictEqual((yield* Served.get(about(served, "events", "&after=soon"))).status, 400)
      assert.strictEqual((yield* Served.get(`${served.url}/api/records`)).status, 400)
    }))
})
