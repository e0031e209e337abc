/**
 * Entries of a session file, each of which names the entry before it. A session in which the user returned to an
 * earlier entry has several ends.
 */

export interface Entry {
  readonly id: string
  readonly parent: string | null
}

/**
 * The entries for which `isKept` is true, each linked to the nearest kept entry before it. In a file, an entry comes
 * before those that follow it.
 */
export const only = <A extends Entry>(
  entries: ReadonlyArray<A>,
  isKept: (entry: A) => boolean
): ReadonlyArray<Omit<A, "parent"> & Entry> => {
  const nearest = new Map<string, string | null>()
  const upTo = (parent: string | null) => parent !== null && nearest.has(parent) ? nearest.get(parent) ?? null : parent
  for (const entry of entries) nearest.set(entry.id, isKept(entry) ? entry.id : upTo(entry.parent))
  return entries.filter(isKept).map((entry) => ({ ...entry, parent: upTo(entry.parent) }))
}

/**
 * For each end of a session, the entries from the beginning to that end. Paths whose beginning is missing from the file
 * are left out, because it is unknown what the model was shown.
 */
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
  }).filter(([first]) => first?.parent === null)
}
