/**
 * What the reward of answers is paid for, where it is not the reference answer: a length that separates paid from unpaid answers, or words
 * that only paid answers have.
 */
import type { Episode } from "./GroupChecks.ts"
import type { Check } from "./TrendChecks.ts"

/** Answers that are compared, the newest of the run: a grader does not change while a policy does. */
const compared = 1024

/** Fewer answers of a kind may be chance. */
const leastAnswers = 20

/** More answers would tell no more about a phrase. */
const mostRead = 256

/** How well a feature has to tell paid answers from unpaid ones: the mean of the shares that it tells rightly of each. */
const telling = 0.97

/** By how much it tells them better than the reference answer does. */
const better = 0.05

/** Answers that show that the reference answer makes no difference: paid ones without it, and unpaid ones with it. */
const leastContrary = 3

/** The share of the answers with the feature, and without the reference, that are paid all the same; where right answers are paid it is 0. */
const indifferent = 0.9

/** An answer that was not cut, to a problem whose reference is a whole number: other numbers are written in many ways. */
interface Answer {
  readonly text: string
  readonly reward: number
  readonly hasReference: boolean
}

const isNumber = (reference: string) => /^-?\d+$/.test(reference)

/** Whether the number stands in the text by itself, and not inside of another number. */
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

/** Answers that earned more than half of what can be earned, and the others. */
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

/** The mean share of the answers that a feature tells rightly, where paid answers should have it. */
const tells = ({ paid, unpaid }: Sides, has: (answer: Answer) => boolean) =>
  (share(paid, has) + 1 - share(unpaid, has)) / 2

interface Feature {
  readonly share: number
  readonly text: string
  readonly has: (answer: Answer) => boolean
}

const noFeature: Feature = { share: 0, text: "", has: () => false }

/** The length that tells paid from unpaid answers best. */
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

/** Lengths of the pieces of text that are compared. */
const pieceLengths = [12, 8, 5]

const pieces = (text: string, length: number) => {
  const found = new Set<string>()
  for (let at = 0; at + length <= text.length; at++) found.add(text.slice(at, at + length))
  return found
}

/** At most so many of the answers, at equal distances. */
const some = (answers: ReadonlyArray<Answer>) => {
  const each = Math.ceil(answers.length / mostRead)
  return answers.filter((_, at) => at % each === 0)
}

/** The piece of text that tells paid from unpaid answers best, and the longest of equally good ones. */
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

/** Whether answers that have the feature are paid without the reference, and others not paid with it. */
const isIndifferent = ({ paid, unpaid }: Sides, { has }: Feature): boolean => {
  const lacking = (answer: Answer) => has(answer) && !answer.hasReference
  const right = (answer: Answer) => !has(answer) && answer.hasReference
  const [paidLacking, lackingAll] = [paid.filter(lacking).length, [...paid, ...unpaid].filter(lacking).length]
  const [unpaidRight, rightAll] = [unpaid.filter(right).length, [...paid, ...unpaid].filter(right).length]
  return Math.min(paidLacking, unpaidRight) >= leastContrary
    && paidLacking >= indifferent * lackingAll && unpaidRight >= indifferent * rightAll
}

/**
 * One feature of the text, its length or a phrase, tells which answers are paid, and given the feature the reference answer makes no
 * difference. Episodes of several turns, cut answers, and problems whose reference is no whole number are left out.
 */
export const surfaceReward = (): Check => {
  let recent: ReadonlyArray<Answer> = []
  let wasPaid = false
  return (groups) => {
    recent = [...recent, ...groups.flat().flatMap(answerOf)].slice(-compared)
    const sides = sidesOf(recent)
    const isEnough = Math.min(sides.paid.length, sides.unpaid.length) >= leastAnswers
    const byReference = isEnough ? tells(sides, ({ hasReference }) => hasReference) : 1
    // Nothing tells answers apart better than a reference that tells nearly all of them.
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
