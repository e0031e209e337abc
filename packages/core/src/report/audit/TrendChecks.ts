/** Checks of an iteration against those before it. */
import * as Statistics from "../../records/Statistics.ts"
import type { Episode } from "./GroupChecks.ts"

/** The finding of a check in an iteration. */
export interface Trend {
  readonly check: string
  readonly detail: string
}

/** Looks at one iteration after the other; each is the members of its groups. */
export type Check = (groups: ReadonlyArray<ReadonlyArray<Episode>>) => ReadonlyArray<Trend>

/** Iterations that a run begins with, to which later ones are compared. */
const baseline = 3

/** Responses have become several times as long, or as short, as at the beginning. */
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

/** Fewer iterations in a row may be chance. */
const longCollapse = 3

/** For several iterations almost every group had equal rewards without being solved, so that there is hardly anything to learn from. */
export const varianceCollapse = (): Check => {
  let inARow = 0
  return (groups) => {
    const compared = groups.filter((group) => group.length > 1)
    const equal = compared.filter((group) => group.every(({ reward }) => reward === group[0]?.reward))
    const best = Math.max(...compared.flat().map(({ reward }) => reward))
    const unsolved = equal.filter((group) => (group[0]?.reward ?? 0) < best || best <= 0)
    const isCollapsed = compared.length > 0 && equal.length >= 0.95 * compared.length && unsolved.length > 0
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

/** Most responses end at their limit. */
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

/** Shorter responses can be right for many problems. */
const leastTokens = 8
/** With fewer groups, two equal answers would already be half of them. */
const leastGroups = 4

/** One response is given to most problems, token by token. */
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

/** Of an agent's episodes those in which tools were offered, with how many calls could be read, and how many could not. */
const withTools = (groups: ReadonlyArray<ReadonlyArray<Episode>>) =>
  groups.flat().flatMap(({ metrics, reward }) => {
    const { tool_calls: calls, unread_calls: unread = 0 } = metrics
    return calls === undefined ? [] : [{ calls, unread, reward }]
  })

/** Tools are offered, and no episode calls one: whatever is rewarded, their use is not. */
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

/** Most episodes with tools write calls that cannot be read, and no other. */
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
        detail:
          `in ${unread.length} of ${episodes.length} episodes calls of tools were written that cannot be read, and no other`
      }]
      : []
  }
}

/** The name of the length of a response among the metrics of its member. */
const lengthName = "response length"

const valueOf = ({ metrics, tokens }: Episode, name: string) => name === lengthName ? tokens.length : metrics[name]

/** Share of the variance of rewards that a metric of the same members explains: the squared correlation. */
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

/** Where fewer values than this share differ from the most common one, nearly all are equal. */
const leastVaried = 0.05

/** Whether values differ: where nearly all are equal, the few others decide every correlation. */
const varies = (values: ReadonlyArray<number | undefined>) => {
  const counts = new Map<number | undefined, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return Math.max(0, ...counts.values()) < (1 - leastVaried) * values.length
}

/** One part of the reward has come to decide it alone, while the part that decided it at the beginning no longer matters. */
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

/** A reference that right answers contain as it is written. */
const isNumber = (reference: string) => /^-?\d+(\.\d+)?$/.test(reference)

const contains = ({ reference = "", texts }: Episode) =>
  texts.some(([, text]) => text.replaceAll(",", "").includes(reference))

/** Fewer answers may be chance. */
const leastPaid = 8
/** Fewer iterations in a row may be chance. */
const longUnfounded = 2

/**
 * Most of the answers that earn the full reward lack the reference answer, a number, which an answer needs to be right: the reward pays for
 * something else. It is named where the length of the answers explains most of the rewards.
 */
export const unfoundedReward = (): Check => {
  let inARow = 0
  return (groups) => {
    const episodes = groups.flat().filter(({ reference }) => reference !== undefined && isNumber(reference))
    const most = Math.max(...episodes.map(({ reward }) => reward))
    const paid = episodes.filter(({ reward }) => reward === most)
    const unfounded = paid.filter((episode) => !contains(episode))
    inARow = paid.length >= leastPaid && most > 0 && 2 * unfounded.length > paid.length ? inARow + 1 : 0
    return inARow === longUnfounded
      ? [{
        check: "unfounded_reward",
        detail:
          `${unfounded.length} of the ${paid.length} answers that earned ${most} do not contain the reference answer`
      }]
      : []
  }
}
