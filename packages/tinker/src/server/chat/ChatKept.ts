/** What this server keeps of the conversations of each tenant, which no other tenant can name. */
import { Kept } from "@effect-rl/agent"

/** Characters of JSON of one tenant; a long conversation of an agent has a quarter of them. */
const mostCharacters = 4 * 1024 * 1024

/** By tenant; undefined is that of a server without keys. */
export type ChatKept = (tenant: string | undefined) => Kept.Kept

/** Nothing yet. */
export const make = (): ChatKept => {
  const tenants = new Map<string | undefined, Kept.Kept>()
  return (tenant) => {
    const kept = tenants.get(tenant) ?? Kept.newest(mostCharacters)
    tenants.set(tenant, kept)
    return kept
  }
}
