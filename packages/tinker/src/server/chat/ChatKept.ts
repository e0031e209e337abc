/** Conversation state that the server keeps for each tenant; other tenants cannot refer to it. */
import { Kept } from "@effect-rl/agent"

/** Maximum number of JSON characters per tenant, about four times a long agent conversation. */
const mostCharacters = 4 * 1024 * 1024

/** The state of a tenant; `undefined` is the tenant of a server without keys. */
export type ChatKept = (tenant: string | undefined) => Kept.Kept

/** Creates a store in which every tenant's state is empty at first. */
export const make = (): ChatKept => {
  const tenants = new Map<string | undefined, Kept.Kept>()
  return (tenant) => {
    const kept = tenants.get(tenant) ?? Kept.newest(mostCharacters)
    tenants.set(tenant, kept)
    return kept
  }
}
