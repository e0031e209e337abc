/** The tokens of texts that are encoded again and again: a conversation that grows is rendered for each of its requests. */

/** Characters of all texts that are remembered at most: those of a thousand conversations. */
const most = 4_000_000

/** The function with the results of the texts that were asked for last. Its results must not be changed. */
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
    const tokens = found ?? encode(text)
    if (found === undefined) characters += text.length
    else known.delete(text)
    known.set(text, tokens)
    forget()
    return tokens
  }
}
