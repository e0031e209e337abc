/** Sessions that are running or have ended, as searches find them. */
import type * as Wire from "../wire/Service.ts"

export interface Entry {
  readonly id: string
  readonly tenant: string | undefined
  readonly createdMillis: number
  readonly displayName?: string | undefined
  readonly userMetadata?: Readonly<Record<string, string>> | undefined
  /** Ids of the models made in it. */
  readonly runIds: Array<string>
  /** Undefined for a session that ended without being finished by its client. */
  status: Wire.SessionStatus | undefined
}

export interface SessionLog {
  readonly add: (session: Omit<Entry, "status" | "runIds">) => Entry
  readonly find: (id: string, tenant: string | undefined) => Entry | undefined
  /** A tenant's sessions, newest first. */
  readonly of: (tenant: string | undefined) => ReadonlyArray<Entry>
}

/** The oldest is forgotten first. */
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

/** Characters of an outcome's detail that are kept. */
const mostCharacters = 16_384

/** A copy, as a slice would keep all of the text in memory. */
const shortened = (text: string | null) =>
  text === null || text.length <= mostCharacters ? text : Buffer.from(text.slice(0, mostCharacters)).toString()

/** The first outcome that a client reports stays. */
export const finish = (entry: Entry, { detail = null, reason }: Wire.FinishRequest) => {
  if (entry.status?.type !== "client_finished") {
    entry.status = { type: "client_finished", reason: reason ?? { type: "success" }, detail: shortened(detail) }
  }
}

/** Notes that the session is no longer running. */
export const end = (entry: Entry) => {
  if (entry.status?.type === "active") entry.status = undefined
}
