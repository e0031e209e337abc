import type { AgentEnv } from "@effect-rl/agent"
import { AgentLaws } from "@effect-rl/agent/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createServer } from "node:http"
import * as Asking from "./Asking.ts"

let verdicts = 0
let kept: AgentEnv.Session | undefined

const elsewhere = createServer((_, response) => response.end("yes"))

/** Agents that each violate one law, by the law's name. */
const bad: Readonly<Record<string, AgentEnv.Options["run"]>> = {
  "gives the same verdict for the same responses": async (session) => {
    await Asking.ask(session, "Is it so?")
    return verdicts++
  },
  "has a session of its own in each of several episodes at the same time": async (session) => {
    kept ??= session
    const used = kept
    await new Promise((resume) => setTimeout(resume, 20))
    const said = await Asking.ask(used, "Is it so?").finally(() => kept = undefined)
    return said.includes("yes") ? 1 : 0
  },
  "asks nothing outside of its session": async (session) => {
    await new Promise<void>((resume) => elsewhere.listen(0, "127.0.0.1", resume))
    const address = elsewhere.address()
    const port = typeof address === "string" ? 0 : address?.port
    await (await globalThis.fetch(`http://127.0.0.1:${port}`)).text()
    elsewhere.close()
    return Asking.good(session)
  },
  "asks nothing after its verdict": async (session) => {
    const said = await Asking.ask(session, "Is it so?")
    setTimeout(() => void Asking.ask(session, "And now?").catch(() => {}), 10)
    return said.includes("yes") ? 1 : 0
  },
  "ends when it is told to": async (session) => {
    await Asking.ask(session, "Is it so?").catch(() => new Promise((resume) => setTimeout(resume, 1000)))
    throw new Error("too late")
  },
  "gives no verdict after its end": (session) => Asking.ask(session, "Is it so?").then(() => 0, () => 1)
}

describe("each law", () => {
  for (const [law, run] of Object.entries(bad)) {
    it.live(`is violated by its faulty agent: ${law}`, () =>
      Effect.gen(function*() {
        const laws = AgentLaws.agentLaws({ run, replies: Asking.replies, grace: "100 millis" })
        const check = laws.find(({ name }) => name === law)?.check ?? Effect.die(new Error(`no law "${law}"`))
        const violation = yield* Effect.flip(check)
        assert.strictEqual(violation._tag, "LawViolation")
        assert.strictEqual(violation.law, law)
      }))
  }

  it("has an agent that violates it", () => {
    const laws = AgentLaws.agentLaws({ run: Asking.good, replies: Asking.replies }).map(({ name }) => name)
    assert.sameMembers(Object.keys(bad), laws)
  })
})
