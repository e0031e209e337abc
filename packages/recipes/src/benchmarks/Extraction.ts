/**
 * Extracts answers from benchmark responses.
 *
 * @example
 * Extraction.letter("The answer is (C).", "ABCD") // "C"
 */

/** The content of the first `\boxed{…}`, including nested braces; undefined if there is no box or it is not closed. */
export const firstBoxed = (text: string): string | undefined => {
  const marker = "\\boxed{"
  const start = text.indexOf(marker) + marker.length
  if (start < marker.length) return undefined
  let depth = 1
  for (let at = start; at < text.length; at++) {
    if (text[at] === "{") depth++
    if (text[at] === "}" && --depth === 0) return text.slice(start, at)
  }
  return undefined
}

/** The first number in the text, after LaTeX, dollar signs, commas and spaces are removed. Without a number, the cleaned text. */
export const number = (text: string): string => {
  const bare = text.replace(/\\text\{[^}]*\}/g, "").replace(/\\[a-zA-Z]+/g, "").replace(/[{}$, ]/g, "")
  return /-?\p{Nd}+\.?\p{Nd}*/u.exec(bare)?.[0] ?? bare.trim()
}

const lastOf = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].at(-1)

/**
 * The final number of a solution. It is taken from the first box unless that is empty, after the first `####`, after "answer is" or
 * "answer:", from the last bold number, or from the last number, in this order. Empty if there is none. If a box or the line after `####`
 * has no number, its text without LaTeX is returned.
 *
 * @see tinker-cookbook `eval/benchmarks/_common.py: extract_gsm8k_answer`
 */
export const finalNumber = (text: string): string => {
  const boxed = firstBoxed(text)
  if (boxed !== undefined && boxed !== "") return number(boxed)
  const marked = /####\s*([^\n]+)/.exec(text)?.[1]
  if (marked !== undefined) return number(marked)
  const said = /(?:answer is|answer:)\s*\$?([0-9,.-]+)/i.exec(text)?.[1]
  if (said !== undefined) return said.trim().replaceAll(",", "").replace(/\.+$/, "")
  const bold = lastOf(text, /\*\*\$?(-?\p{Nd}+[,\p{Nd}]*\.?\p{Nd}*)/gu)?.[1]
  if (bold !== undefined) return bold.replaceAll(",", "").replace(/\.+$/, "")
  return lastOf(text, /-?\p{Nd}+[,\p{Nd}]*\.?\p{Nd}*/gu)?.[0].replaceAll(",", "") ?? ""
}

/**
 * The letter that answers a multiple-choice question. It is taken from the first box if that contains one of `letters`, after "answer is"
 * or "answer:", or from the last single letter in the last 300 characters, in this order. Empty if there is none.
 *
 * @see tinker-cookbook `eval/benchmarks/_common.py: extract_mcq_answer`
 */
export const letter = (text: string, letters: string): string => {
  const boxed = firstBoxed(text)?.trim().toUpperCase()
  if (boxed !== undefined && boxed.length === 1 && letters.includes(boxed)) return boxed
  const said = new RegExp(`(?:answer is|answer:)\\s*\\(?([${letters}])\\)?`, "i").exec(text)?.[1]
  if (said !== undefined) return said.toUpperCase()
  const alone = new RegExp(`(?<![\\p{L}\\p{N}_])([${letters}])(?![\\p{L}\\p{N}_])`, "gu")
  return lastOf([...text].slice(-300).join(""), alone)?.[1] ?? ""
}

/** The text in lower case, without punctuation, articles and repeated spaces, as SQuAD compares answers. */
export const normalAnswer = (text: string): string =>
  text.toLowerCase().replace(/[!-/:-@[-`{-~]/g, "").replace(/\b(?:a|an|the)\b/g, " ").replace(/\s+/g, " ").trim()
