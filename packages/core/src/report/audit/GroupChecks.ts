/** Checks of one group at a time: they can say which members they suspect. */
import type { Episode } from "./Episode.ts"
import type { Suspicion } from "./Suspicion.ts"

/** Shorter responses are often equal for good reasons, such as an answer of one number. */
const leastTokens = 8

const countBy = <A, K>(values: ReadonlyArray<A>, keyOf: (value: A) => K) => {
  const groups = new Map<K, Array<A>>()
  for (const value of values) {
    const key = keyOf(value)
    const found = groups.get(key)
    if (found === undefined) groups.set(key, [value])
    else found.push(value)
  }
  return groups
}

const indices = (episodes: ReadonlyArray<Episode>) => episodes.map(({ member }) => member)

/** Equality with a probability below e⁻²⁰ is not taken for a coincidence. */
const surprising = 20

/**
 * Members wrote the same response, token by token, although the response is unlikely: their requests share their randomness. Members of a
 * policy that has become certain also write the same response, and are not suspected.
 */
export const duplicates = (episodes: ReadonlyArray<Episode>): ReadonlyArray<Suspicion> => {
  const long = episodes.filter(({ tokens }) => tokens.length >= leastTokens)
  return [...countBy(long, ({ tokens }) => tokens.join()).values()].flatMap((same) => {
    const [first] = same
    if (first === undefined || (1 - same.length) * first.logprob < surprising) return []
    const { logprob, tokens } = first
    return [{
      check: "duplicates",
      detail:
        `${same.length} of ${episodes.length} members sampled the same ${tokens.length} tokens, each with a probability ` +
        `of e^${logprob.toFixed(0)}`,
      members: indices(same)
    }]
  })
}

/** A wrong answer earned at least as much as a right one of the same group: reward and verdict contradict each other. */
export const disagreements = (episodes: ReadonlyArray<Episode>): ReadonlyArray<Suspicion> => {
  const right = episodes.filter(({ isCorrect }) => isCorrect === true)
  const least = Math.min(...right.map(({ reward }) => reward))
  const wrong = episodes.filter(({ isCorrect, reward }) => isCorrect === false && reward >= least)
  if (right.length === 0 || wrong.length === 0) return []
  const paid = Math.max(...wrong.map(({ reward }) => reward))
  return [{
    check: "grader_disagreement",
    detail: `a wrong answer earned ${paid}, a right one ${least}`,
    members: indices(wrong)
  }]
}

/** Length of the pieces that are looked for again. */
const pieceLength = 4
/** Below this, a list or a table repeats itself as well. */
const leastRepeating = 48

/** Share of a response's pieces that occurred before in it. */
const repetition = (tokens: Int32Array) => {
  const seen = new Set<string>()
  const pieces = tokens.length - pieceLength + 1
  for (let at = 0; at < pieces; at++) seen.add(tokens.subarray(at, at + pieceLength).join())
  return pieces <= 0 ? 0 : 1 - seen.size / pieces
}

/** Responses that repeat themselves over and over. */
export const loops = (episodes: ReadonlyArray<Episode>): ReadonlyArray<Suspicion> => {
  const looping = episodes.filter(({ tokens }) => tokens.length >= leastRepeating && repetition(tokens) > 0.7)
  return looping.length === 0 ? [] : [{
    check: "repetition",
    detail: `more than 70 % of a response repeats earlier parts of it, as in ${looping[0]?.tokens.length ?? 0} tokens`,
    members: indices(looping)
  }]
}
