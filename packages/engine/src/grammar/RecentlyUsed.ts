/** Keeps the most recently used entries of a map. */

/** Moves or adds the entry to the end of the map, then removes the least recently used entries until at most `most` are left. */
export const keep = <A>(
  entries: Map<string, A>,
  key: string,
  value: A,
  most: number,
  dispose: (value: A) => void = () => {}
): A => {
  entries.delete(key)
  entries.set(key, value)
  for (const [oldest, old] of entries) {
    if (entries.size <= most) break
    entries.delete(oldest)
    dispose(old)
  }
  return value
}
