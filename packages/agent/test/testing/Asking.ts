/** An agent that satisfies the laws. */
import type { AgentEnv } from "@effect-rl/agent"
import { AgentLaws } from "@effect-rl/agent/testing"

export const ask = async (
  { baseUrl, fetch, signal }: Pick<AgentEnv.Session, "baseUrl" | "fetch" | "signal">,
  content: string
) => {
  const body = JSON.stringify({ model: AgentLaws.modelName, messages: [{ role: "user", content }] })
  const response = await fetch(`${baseUrl}/chat/completions`, { method: "POST", body, signal })
  if (!response.ok) throw new Error(`answered ${response.status}`)
  return response.text()
}

export const replies = ["yes", "no", "perhaps"] as const

/** Asks twice. The reward is 1 if one of the answers contains "yes". */
export const good = async (session: AgentEnv.Session) => {
  const first = await ask(session, "Is it so?")
  const second = await ask(session, "Are you sure?")
  return first.includes("yes") || second.includes("yes") ? 1 : 0
}
