/** Maps that keep the entries that were used last. */

/** Puts the entry last, and takes out those that were used longest ago until at most `most` are left. */
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
