import type { AgentEnv } from "@effect-rl/agent"
import { AgentLaws } from "@effect-rl/agent/testing"
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Asking from "./Asking.ts"

describe("an agent that asks twice", () => {
  for (
    const { check, name } of AgentLaws.agentLaws({ run: Asking.good, replies: Asking.replies, grace: "100 millis" })
  ) {
    it.live(name, () => check)
  }
})

describe("an agent that is an Effect", () => {
  const run = (session: AgentEnv.Session) => Effect.as(Effect.promise(() => Asking.ask(session, "Is it so?")), 1)
  for (const { check, name } of AgentLaws.agentLaws({ run, replies: Asking.replies, grace: "100 millis" })) {
    it.live(name, () => check)
  }
})
