/**
 * Detects rewards that depend on a surface feature instead of the reference answer: on a length that separates paid from unpaid answers, or
 * on words that only paid answers have.
 */
import type { Episode } from "./GroupChecks.ts"
import type { Check } from "./TrendChecks.ts"

/** The number of newest answers that are compared. Older ones stay useful, because the grader does not change while the policy does. */
const compared = 1024

/** Minimum number of paid and of unpaid answers, to exclude chance. */
const leastAnswers = 20

/** The number of answers searched for a phrase; more would not change the result. */
const mostRead = 256

/** How accurately a feature must tell paid from unpaid answers: the mean of its accuracies on both. */
const telling = 0.97

/** How much more accurate a feature must be than the reference answer. */
const better = 0.05

/** Minimum number of answers that contradict the reference: paid answers without it, and unpaid answers with it. */
const leastContrary = 3

/**
 * Minimum share of paid answers among those with the feature but without the reference, and of unpaid answers among those with the
 * reference but without the feature. Both shares are 0 if right answers are paid.
 */
const indifferent = 0.9

/** A complete answer to a problem whose reference is an integer; other numbers can be written in many ways. */
interface Answer {
  readonly text: string
  readonly reward: number
  readonly hasReference: boolean
}

const isNumber = (reference: string) => /^-?\d+$/.test(reference)

/** Whether the text contains the number on its own, not as a part of another number. */
const states = (text: string, reference: string) => {
  const plain = text.replaceAll(/(?<=\d),(?=\d{3})/g, "")
  for (let at = plain.indexOf(reference); at >= 0; at = plain.indexOf(reference, at + 1)) {
    const [before, after] = [plain[at - 1] ?? "", plain.slice(at + reference.length)]
    if (!/\d/.test(before) && !/^\.?\d/.test(after)) return true
  }
  return false
}

const answerOf = ({ isTruncated, reference, reward, texts }: Episode): ReadonlyArray<Answer> => {
  const said = texts.flatMap(([name, text]) => name === "answer" ? [text] : [])
  const [text] = said
  if (isTruncated || said.length !== 1 || text === undefined || reference === undefined || !isNumber(reference)) {
    return []
  }
  return [{ text, reward, hasReference: states(text, reference) }]
}

/** Paid answers, which earned more than half of the maximum, and unpaid answers, the rest. */
interface Sides {
  readonly paid: ReadonlyArray<Answer>
  readonly unpaid: ReadonlyArray<Answer>
}

const sidesOf = (answers: ReadonlyArray<Answer>): Sides => {
  let [low, high] = [Infinity, -Infinity]
  for (const { reward } of answers) {
    low = Math.min(low, reward)
    high = Math.max(high, reward)
  }
  const isPaid = ({ reward }: Answer) => reward > (low + high) / 2
  return { paid: answers.filter(isPaid), unpaid: answers.filter((answer) => !isPaid(answer)) }
}

const share = (answers: ReadonlyArray<Answer>, has: (answer: Answer) => boolean) =>
  answers.filter(has).length / answers.length

/** The balanced accuracy of a feature that paid answers should have. */
const tells = ({ paid, unpaid }: Sides, has: (answer: Answer) => boolean) =>
  (share(paid, has) + 1 - share(unpaid, has)) / 2

interface Feature {
  readonly share: number
  readonly text: string
  readonly has: (answer: Answer) => boolean
}

const noFeature: Feature = { share: 0, text: "", has: () => false }

/** The length threshold that best separates paid from unpaid answers. */
const lengthOf = ({ paid, unpaid }: Sides): Feature => {
  const counts = new Map<number, { paid: number; unpaid: number }>()
  const countOf = ({ text: { length } }: Answer) => {
    const count = counts.get(length) ?? { paid: 0, unpaid: 0 }
    counts.set(length, count)
    return count
  }
  for (const answer of paid) countOf(answer).paid++
  for (const answer of unpaid) countOf(answer).unpaid++
  let best = noFeature
  let [longPaid, longUnpaid] = [1, 1]
  for (const [length, count] of [...counts].toSorted(([left], [right]) => left - right)) {
    const longer = (longPaid + 1 - longUnpaid) / 2
    if (longer > best.share) {
      best = { share: longer, text: `at least ${length} characters`, has: ({ text }) => text.length >= length }
    }
    longPaid -= count.paid / paid.length
    longUnpaid -= count.unpaid / unpaid.length
    const shorter = 1 - (longPaid + 1 - longUnpaid) / 2
    if (shorter > best.share) {
      best = { share: shorter, text: `at most ${length} characters`, has: ({ text }) => text.length <= length }
    }
  }
  return best
}

/** Lengths, in characters, of the candidate phrases. */
const pieceLengths = [12, 8, 5]

const pieces = (text: string, length: number) => {
  const found = new Set<string>()
  for (let at = 0; at + length <= text.length; at++) found.add(text.slice(at, at + length))
  return found
}

/** A limited number of the answers, evenly spaced. */
const some = (answers: ReadonlyArray<Answer>) => {
  const each = Math.ceil(answers.length / mostRead)
  return answers.filter((_, at) => at % each === 0)
}

/** The phrase that best separates paid from unpaid answers; the longest among equals. */
const phraseOf = (sides: Sides): Feature => {
  const [paid, unpaid] = [some(sides.paid), some(sides.unpaid)]
  let best = noFeature
  for (const length of pieceLengths) {
    const counts = new Map<string, number>()
    for (const { text } of paid) {
      for (const piece of pieces(text, length)) counts.set(piece, (counts.get(piece) ?? 0) + 1)
    }
    for (const [piece, count] of counts) {
      if ((count / paid.length + 1) / 2 <= Math.max(best.share, telling)) continue
      const has = ({ text }: Answer) => text.includes(piece)
      const found = tells({ paid, unpaid }, has)
      if (found > best.share) best = { share: found, text: JSON.stringify(piece), has }
    }
  }
  return best
}

/** Whether answers that have the feature but not the reference are paid, and answers that have the reference but not the feature are not. */
const isIndifferent = ({ paid, unpaid }: Sides, { has }: Feature): boolean => {
  const lacking = (answer: Answer) => has(answer) && !answer.hasReference
  const right = (answer: Answer) => !has(answer) && answer.hasReference
  const [paidLacking, lackingAll] = [paid.filter(lacking).length, [...paid, ...unpaid].filter(lacking).length]
  const [unpaidRight, rightAll] = [unpaid.filter(right).length, [...paid, ...unpaid].filter(right).length]
  return Math.min(paidLacking, unpaidRight) >= leastContrary
    && paidLacking >= indifferent * lackingAll && unpaidRight >= indifferent * rightAll
}

/**
 * Reports that one feature of the text, its length or a phrase, determines which answers are paid, and that the reference answer then makes
 * no difference. Episodes without exactly one graded answer, truncated answers, and problems whose reference is not an integer are left
 * out.
 */
export const surfaceReward = (): Check => {
  let recent: ReadonlyArray<Answer> = []
  let wasPaid = false
  return (groups) => {
    recent = [...recent, ...groups.flat().flatMap(answerOf)].slice(-compared)
    const sides = sidesOf(recent)
    const isEnough = Math.min(sides.paid.length, sides.unpaid.length) >= leastAnswers
    const byReference = isEnough ? tells(sides, ({ hasReference }) => hasReference) : 1
    // If the reference answer alone tells paid from unpaid answers almost always, no feature can be better by the required margin.
    const features = byReference + better > 1 ? [] : [lengthOf(sides), phraseOf(sides)]
    const [feature = noFeature] = features.toSorted((left, right) => right.share - left.share)
    const isPaid = feature.share >= Math.max(telling, byReference + better) && isIndifferent(sides, feature)
    const begins = isPaid && !wasPaid
    wasPaid = isPaid
    return begins
      ? [{
        check: "surface_reward",
        detail: `the reward pays for ${feature.text}: that tells ${
          Math.round(100 * feature.share)
        } % of the paid and unpaid answers apart, the reference answer ${Math.round(100 * byReference)} %`
      }]
      : []
  }
}
