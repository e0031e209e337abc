/** Running and ended sessions, for searches. */
import type * as Wire from "../wire/Service.ts"

export interface Entry {
  readonly id: string
  readonly tenant: string | undefined
  readonly createdMillis: number
  readonly displayName?: string | undefined
  readonly userMetadata?: Readonly<Record<string, string>> | undefined
  /** Ids of the models that were created in the session. */
  readonly runIds: Array<string>
  /** Undefined if the session ended without its client finishing it. */
  status: Wire.SessionStatus | undefined
}

export interface SessionLog {
  readonly add: (session: Omit<Entry, "status" | "runIds">) => Entry
  readonly find: (id: string, tenant: string | undefined) => Entry | undefined
  /** A tenant's sessions, newest first. */
  readonly of: (tenant: string | undefined) => ReadonlyArray<Entry>
}

/** Number of entries above which the oldest ended sessions are forgotten. */
const mostEntries = 1000

export const make = (): SessionLog => {
  const entries = new Map<string, Entry>()
  return {
    add: (session) => {
      const entry: Entry = { ...session, runIds: [], status: { type: "active" } }
      entries.set(entry.id, entry)
      for (const [id, { status }] of entries) {
        if (entries.size <= mostEntries) break
        if (status?.type !== "active") entries.delete(id)
      }
      return entry
    },
    find: (id, tenant) => {
      const entry = entries.get(id)
      return entry?.tenant === tenant ? entry : undefined
    },
    of: (tenant) => [...entries.values()].filter((entry) => entry.tenant === tenant).reverse()
  }
}

/** Maximum number of characters kept of an outcome's detail. */
const mostCharacters = 16_384

/** Shortens a text by copying, because a slice would keep the whole text in memory. */
const shortened = (text: string | null) =>
  text === null || text.length <= mostCharacters ? text : Buffer.from(text.slice(0, mostCharacters)).toString()

/** Records how a client finished its session. Only the first outcome is kept. */
export const finish = (entry: Entry, { detail = null, reason }: Wire.FinishRequest) => {
  if (entry.status?.type !== "client_finished") {
    entry.status = { type: "client_finished", reason: reason ?? { type: "success" }, detail: shortened(detail) }
  }
}

/** Records that the session has ended. */
export const end = (entry: Entry) => {
  if (entry.status?.type === "active") entry.status = undefined
}
