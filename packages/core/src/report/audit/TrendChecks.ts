/** Checks of whole iterations, some of which compare an iteration with earlier ones. */
import * as Statistics from "../../records/Statistics.ts"
import type { Episode } from "./GroupChecks.ts"

/** What a check found in an iteration. */
export interface Trend {
  readonly check: string
  readonly detail: string
}

/** Looks at one iteration after another; each is given as groups of member episodes. */
export type Check = (groups: ReadonlyArray<ReadonlyArray<Episode>>) => ReadonlyArray<Trend>

/** The number of initial iterations that later ones are compared with. */
const baseline = 3

/** Reports that the mean response has become more than three times longer or shorter than in the first three iterations. */
export const lengthDrift = (): Check => {
  const first: Array<number> = []
  let isDrifting = false
  return (groups) => {
    const length = Statistics.mean(groups.flat().map(({ tokens }) => tokens.length))
    if (!Number.isFinite(length)) return []
    if (first.length < baseline) {
      first.push(length)
      return []
    }
    const was = Statistics.mean(first)
    const wasDrifting = isDrifting
    isDrifting = length > 3 * was || length < was / 3
    return isDrifting && !wasDrifting
      ? [{
        check: "length_drift",
        detail: `responses have ${length.toFixed(1)} tokens on average, ${
          was.toFixed(1)
        } in the first ${baseline} iterations`
      }]
      : []
  }
}

/** Minimum number of consecutive iterations, to exclude chance. */
const longCollapse = 3
/** The share of the groups that counts as almost all of them. */
const almostAll = 0.95

/**
 * Reports three iterations in a row in which at least 95 % of the groups had equal rewards and fewer than 95 % were solved: there is hardly
 * any learning signal, although the task is not learned.
 */
export const varianceCollapse = (): Check => {
  let inARow = 0
  return (groups) => {
    const compared = groups.filter((group) => group.length > 1)
    const equal = compared.filter((group) => group.every(({ reward }) => reward === group[0]?.reward))
    const best = Math.max(...compared.flat().map(({ reward }) => reward))
    const solved = best <= 0 ? [] : equal.filter((group) => group[0]?.reward === best)
    const least = almostAll * compared.length
    const isCollapsed = compared.length > 0 && equal.length >= least && solved.length < least
    inARow = isCollapsed ? inARow + 1 : 0
    return inARow === longCollapse
      ? [{
        check: "variance_collapse",
        detail: `${equal.length} of ${compared.length} groups have equal rewards, as in the ${
          longCollapse - 1
        } iterations before`
      }]
      : []
  }
}

/** Reports that more than half of the responses end at their token limit. */
export const truncation = (): Check => {
  let wasCut = false
  return (groups) => {
    const episodes = groups.flat()
    const share = episodes.filter(({ isTruncated }) => isTruncated).length / episodes.length
    const isCut = share > 0.5
    const begins = isCut && !wasCut
    wasCut = isCut
    return begins
      ? [{ check: "truncation", detail: `${Math.round(100 * share)} % of the responses are cut at their token limit` }]
      : []
  }
}

/** Minimum number of tokens; a shorter response can be right for many problems. */
const leastTokens = 8
/** Minimum number of groups; with fewer, two equal answers are already half of them. */
const leastGroups = 4

/** Reports that one response, token by token, is given to more than half of the problems. */
export const oneAnswer = (): Check => {
  let wasOne = false
  return (groups) => {
    const counts = new Map<string, number>()
    for (const episodes of groups) {
      const responses = episodes.flatMap(({ tokens }) => tokens.length < leastTokens ? [] : [tokens.join()])
      for (const response of new Set(responses)) counts.set(response, (counts.get(response) ?? 0) + 1)
    }
    const most = Math.max(0, ...counts.values())
    const isOne = groups.length >= leastGroups && 2 * most > groups.length
    const begins = isOne && !wasOne
    wasOne = isOne
    return begins
      ? [{ check: "one_answer", detail: `the same response is given to ${most} of ${groups.length} problems` }]
      : []
  }
}

/** The episodes in which tools were offered, each with its numbers of readable and unreadable calls. */
const withTools = (groups: ReadonlyArray<ReadonlyArray<Episode>>) =>
  groups.flat().flatMap(({ metrics, reward }) => {
    const { tool_calls: calls, unread_calls: unread = 0 } = metrics
    return calls === undefined ? [] : [{ calls, unread, reward }]
  })

/** Reports that tools are offered but no episode calls one: the reward does not depend on their use. */
export const unusedTools = (): Check => {
  let wasUnused = false
  return (groups) => {
    const episodes = withTools(groups)
    const isUnused = episodes.length > 0 && episodes.every(({ calls, unread }) => calls + unread === 0)
    const begins = isUnused && !wasUnused
    wasUnused = isUnused
    const reward = Statistics.mean(episodes.map(({ reward }) => reward))
    return begins
      ? [{
        check: "unused_tools",
        detail: `tools were offered in ${episodes.length} episodes and none was called, with a reward of ${
          reward.toFixed(2)
        } on average`
      }]
      : []
  }
}

/** Reports that most episodes with tools write only calls that cannot be read. */
export const unreadCalls = (): Check => {
  let wasUnread = false
  return (groups) => {
    const episodes = withTools(groups)
    const unread = episodes.filter(({ calls, unread }) => unread > 0 && calls === 0)
    const isUnread = unread.length > episodes.length / 2
    const begins = isUnread && !wasUnread
    wasUnread = isUnread
    return begins
      ? [{
        check: "unread_calls",
        detail: `in ${unread.length} of ${episodes.length} episodes every tool call that was written is unreadable`
      }]
      : []
  }
}

/** The metric name for a response's length. */
const lengthName = "response length"

const valueOf = ({ metrics, tokens }: Episode, name: string) => name === lengthName ? tokens.length : metrics[name]

/** The share of the rewards' variance that a metric explains: the squared correlation, 0 if the rewards or the metric do not vary. */
const explained = (episodes: ReadonlyArray<Episode>, name: string) => {
  const pairs = episodes.flatMap((episode): ReadonlyArray<readonly [number, number]> => {
    const { reward } = episode
    const value = valueOf(episode, name)
    return value === undefined || !Number.isFinite(value) || !Number.isFinite(reward) ? [] : [[value, reward]]
  })
  const [centerX, centerY] = [Statistics.mean(pairs.map(([x]) => x)), Statistics.mean(pairs.map(([, y]) => y))]
  const sum = (of: (x: number, y: number) => number) =>
    pairs.reduce((total, [x, y]) => total + of(x - centerX, y - centerY), 0)
  const [xx, yy] = [sum((x) => x * x), sum((_, y) => y * y)]
  return xx === 0 || yy === 0 ? 0 : sum((x, y) => x * y) ** 2 / (xx * yy)
}

const namesOf = (episodes: ReadonlyArray<Episode>) => [
  lengthName,
  ...new Set(episodes.flatMap(({ metrics }) => Object.keys(metrics)))
]

/** Values count as nearly all equal if fewer than this share differ from the most common one. */
const leastVaried = 0.05

/** Whether the values vary enough; otherwise a few outliers would determine the correlation. */
const varies = (values: ReadonlyArray<number | undefined>) => {
  const counts = new Map<number | undefined, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return Math.max(0, ...counts.values()) < (1 - leastVaried) * values.length
}

/** Reports that one part of the reward now determines it alone, while the part that determined it at the start no longer matters. */
export const dominance = (): Check => {
  let seen = 0
  const leading = new Map<string, number>()
  let wasDominated = false
  return (groups) => {
    const episodes = groups.flat()
    const shares = namesOf(episodes).map((name) => [name, explained(episodes, name)] as const)
    if (seen++ < baseline) {
      for (const [name, share] of shares) leading.set(name, (leading.get(name) ?? 0) + share / baseline)
      return []
    }
    const [dominant] = shares.toSorted(([, left], [, right]) => right - left)
    const forgotten = shares.find(([name, share]) =>
      name !== dominant?.[0] && share < 0.1 && (leading.get(name) ?? 0) > 0.5
      && varies(episodes.map((episode) => valueOf(episode, name)))
    )
    const isDominated = varies(episodes.map(({ reward }) => reward)) && dominant !== undefined && dominant[1] > 0.8 &&
      (leading.get(dominant[0]) ?? 0) < 0.5
      && forgotten !== undefined
    const begins = isDominated && !wasDominated
    wasDominated = isDominated
    return begins && dominant !== undefined && forgotten !== undefined
      ? [{
        check: "dominance",
        detail:
          `"${dominant[0]}" explains ${Math.round(100 * dominant[1])} % of the rewards' variance, "${forgotten[0]}", ` +
          "which explained most of it at the beginning, next to none"
      }]
      : []
  }
}

/** Whether the reference is a number, which a right answer contains literally. */
const isNumber = (reference: string) => /^-?\d+(\.\d+)?$/.test(reference)

const contains = ({ reference = "", texts }: Episode) =>
  texts.some(([, text]) => text.replaceAll(",", "").includes(reference))

/** Minimum number of answers, to exclude chance. */
const leastPaid = 8
/** Minimum number of consecutive iterations, to exclude chance. */
const longUnfounded = 2

/**
 * The share of answers with the full reward that may lack the reference. An integer is hardly ever written in another way, but other
 * numbers are, for example as fractions or percentages.
 */
const mostUnfounded = (reference: string) => reference.includes(".") ? 0.5 : 0.2

/**
 * Reports two iterations in a row in which many answers with the full reward lack the reference answer, a number that a right answer must
 * contain: the reward also pays for something else. Many are a fifth where the references are integers, and half where they are not.
 */
export const unfoundedReward = (): Check => {
  let inARow = 0
  return (groups) => {
    const episodes = groups.flat().flatMap(({ reference, ...episode }) =>
      reference !== undefined && isNumber(reference) ? [{ ...episode, reference }] : []
    )
    const most = Math.max(...episodes.map(({ reward }) => reward))
    const paid = episodes.filter(({ reward }) => reward === most)
    const unfounded = paid.filter((episode) => !contains(episode))
    const allowed = Statistics.sum(paid.map(({ reference }) => mostUnfounded(reference)))
    inARow = paid.length >= leastPaid && most > 0 && unfounded.length > allowed ? inARow + 1 : 0
    return inARow === longUnfounded
      ? [{
        check: "unfounded_reward",
        detail:
          `${unfounded.length} of the ${paid.length} answers that earned ${most} do not contain the reference answer`
      }]
      : []
  }
}
