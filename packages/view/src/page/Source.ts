/** What the server knows: runs, a run's records as they are written, and transcripts. */
import type { BrokenRun, Entry, GroupView, RunLine } from "../story/Entry.ts"

const query = (path: string, fields: Readonly<Record<string, string>>) => `/api/${path}?${new URLSearchParams(fields)}`

const get = async (url: string) => {
  const response = await fetch(url)
  if (response.ok) return response
  const { error }: { readonly error?: string } = await response.json()
  throw new Error(error ?? `the server answered ${response.status}`)
}

export const runs = async (): Promise<ReadonlyArray<RunLine | BrokenRun>> => (await get("/api/runs")).json()

export const transcript = async (run: string, sequence: number): Promise<GroupView> =>
  (await get(query("transcript", { run, sequence: String(sequence) }))).json()

const records = async (run: string): Promise<ReadonlyArray<Entry>> => (await get(query("records", { run }))).json()

/** Hands over all records written so far, then each new one; the returned function ends it. */
export const follow = async (run: string, onEntries: (entries: ReadonlyArray<Entry>) => void): Promise<() => void> => {
  const entries = await records(run)
  onEntries(entries)
  const after = entries.at(-1)?.sequence ?? -1
  const events = new EventSource(query("events", { run, after: String(after) }))
  events.addEventListener("message", ({ data }) => onEntries([JSON.parse(data)]))
  return () => events.close()
}
