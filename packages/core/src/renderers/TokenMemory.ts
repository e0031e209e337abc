/** Caches the tokens of texts: a growing conversation is rendered again for each of its requests. */

/** Limit on the characters of all cached texts, enough for about a thousand conversations. */
const most = 4_000_000

/** Memoizes `encode` for the most recently used texts. Callers must not mutate the results. */
export const make = (encode: (text: string) => Int32Array): (text: string) => Int32Array => {
  const known = new Map<string, Int32Array>()
  let characters = 0
  const forget = () => {
    for (const text of known.keys()) {
      if (characters <= most) return
      known.delete(text)
      characters -= text.length
    }
  }
  return (text) => {
    const found = known.get(text)
    // The order of use matters only when texts may soon be forgotten.
    if (found !== undefined && characters <= most / 2) return found
    const tokens = found ?? encode(text)
    if (found === undefined) characters += text.length
    else known.delete(text)
    known.set(text, tokens)
    forget()
    return tokens
  }
}
