/** The entries of a session file, each of which names the entry that it follows. A session that went back has several ends. */

export interface Entry {
  readonly id: string
  readonly parent: string | null
}

/** For each end of a session, the entries up to it in order. An entry whose parent is not in the file begins a conversation. */
export const paths = <A extends Entry>(entries: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> => {
  const byId = new Map(entries.map((entry) => [entry.id, entry]))
  const followed = new Set(entries.map(({ parent }) => parent))
  return entries.filter(({ id }) => !followed.has(id)).map((end) => {
    const path = new Set<A>()
    for (let entry: A | undefined = end; entry !== undefined && !path.has(entry);) {
      path.add(entry)
      entry = byId.get(entry.parent ?? "")
    }
    return Array.from(path).toReversed()
  })
}
