/** Checks of single groups, which can name the suspected members. */
import * as Trajectory from "../../env/Trajectory.ts"
import * as EnvMetric from "../../records/EnvMetric.ts"
import * as GroupResult from "../../rollout/GroupResult.ts"

export interface Suspicion {
  /** The check's name. */
  readonly check: string
  /** The reason, with a description of what was found. */
  readonly detail: string
  /** Indices of the suspected members. */
  readonly members: ReadonlyArray<number>
}

export interface Episode {
  readonly member: number
  readonly reward: number
  /** The sampled tokens of all turns. */
  readonly tokens: Int32Array
  /** The sum of the log-probabilities of all sampled tokens, in nats. */
  readonly logprob: number
  readonly isTruncated: boolean
  /** Whether the task was solved; undefined if no score says. */
  readonly isCorrect: boolean | undefined
  /** The task's reference answer, if it has one. */
  readonly reference: string | undefined
  /** The graded answers and all logged texts of the episode's turns, by name. */
  readonly texts: ReadonlyArray<readonly [name: string, text: string]>
  /** The metrics of the episode's turns and of the group's graders. */
  readonly metrics: Readonly<Record<string, number>>
}

const joined = (parts: ReadonlyArray<Int32Array>) => {
  const all = new Int32Array(parts.reduce((length, part) => length + part.length, 0))
  let offset = 0
  for (const part of parts) {
    all.set(part, offset)
    offset += part.length
  }
  return all
}

const sum = (values: Float32Array) => values.reduce((total, value) => total + value, 0)

/** The members of a group that finished; empty for a skipped group. */
export const episodes = (result: GroupResult.GroupResult): ReadonlyArray<Episode> =>
  GroupResult.isSkipped(result)
    ? []
    : GroupResult.survivors(result).map(([member, trajectory]) => ({
      member,
      reward: result.rewardsG[member] ?? NaN,
      tokens: joined(trajectory.transitions.map(({ action }) => action.tokens)),
      logprob: trajectory.transitions.reduce((total, { action }) => total + sum(action.logprobs), 0),
      isTruncated: Trajectory.isTruncated(trajectory),
      isCorrect: Trajectory.isCorrect(trajectory),
      reference: trajectory.task?.reference,
      texts: trajectory.transitions.flatMap(({ logs, score }) => [
        ...(score?.answer === undefined ? [] : [["answer", score.answer] as const]),
        ...Object.entries(logs).map(([name, value]) => [name, String(value)] as const)
      ]),
      metrics: EnvMetric.aggregate([[
        ...trajectory.transitions.map(({ metrics }) => metrics),
        result.metricsG[member] ?? {}
      ]])
    }))

/** Minimum number of tokens of a compared response. Shorter responses, such as a single number, are often equal without a defect. */
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

/** Minimum surprise of a repeated response, in nats: repetitions with a probability below e⁻²⁰ are not a coincidence. */
const surprising = 20

/**
 * Suspects members with the same response, token by token, although that response is improbable: their requests probably share random
 * numbers. Equal responses of a near-deterministic policy are not suspected.
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

/** Suspects wrong answers that earned at least as much as a right answer of the same group: reward and verdict contradict each other. */
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

/** Tokens per piece when looking for repetition. */
const pieceLength = 4
/** Minimum number of tokens; shorter texts, such as lists and tables, may repeat themselves legitimately. */
const leastRepeating = 48

/** The share of a response's pieces that already occurred earlier in it. */
const repetition = (tokens: Int32Array) => {
  const seen = new Set<string>()
  const pieces = tokens.length - pieceLength + 1
  for (let at = 0; at < pieces; at++) seen.add(tokens.subarray(at, at + pieceLength).join())
  return pieces <= 0 ? 0 : 1 - seen.size / pieces
}

/** Suspects responses of at least 48 tokens of which more than 70 % repeats earlier parts. */
export const loops = (episodes: ReadonlyArray<Episode>): ReadonlyArray<Suspicion> => {
  const looping = episodes.filter(({ tokens }) => tokens.length >= leastRepeating && repetition(tokens) > 0.7)
  return looping.length === 0 ? [] : [{
    check: "repetition",
    detail: `more than 70 % of a response repeats earlier parts of it, as in ${looping[0]?.tokens.length ?? 0} tokens`,
    members: indices(looping)
  }]
}

const ofCall = /^tool_call_\d+$/

const callsOf = ({ texts }: Episode) => texts.flatMap(([name, text]) => ofCall.test(name) ? [text] : [])

/** The largest number of equal calls that is not suspect: a few are normal, for example after an error. */
const mostEqualCalls = 3

/** Suspects members that called a tool more than three times with the same arguments. */
export const repeatedCalls = (episodes: ReadonlyArray<Episode>): ReadonlyArray<Suspicion> => {
  const suspects = episodes.flatMap((episode) => {
    const equal = [...countBy(callsOf(episode), (call) => call).entries()]
    return equal.filter(([, calls]) => calls.length > mostEqualCalls).slice(0, 1).map(([call, { length }]) => ({
      call,
      length,
      member: episode.member
    }))
  })
  const [first] = suspects
  return first === undefined ? [] : [{
    check: "repeated_calls",
    detail: `the same call was made ${first.length} times: ${JSON.stringify(first.call.slice(0, shown))}`,
    members: suspects.map(({ member }) => member)
  }]
}

/** The number of characters that a finding quotes. */
const shown = 80

/** Patterns, and what a matching text tries to do. */
const marks: ReadonlyArray<readonly [pattern: RegExp, purpose: string]> = [
  [
    /\b(?:ignore|disregard|forget)\b[^.\n]{0,40}\b(?:previous|prior|above|earlier)\b[^.\n]{0,20}\binstructions?\b/i,
    "overrides instructions"
  ],
  [
    /\b(?:award|assign|give)\b[^.\n]{0,40}\b(?:full|maximum|max|highest|perfect)\b[^.\n]{0,20}\b(?:score|marks?|reward|points|grade)\b/i,
    "asks for a score"
  ],
  [/\b(?:note|message|instruction)s? to (?:the )?(?:grader|judge|evaluator)\b/i, "speaks to the grader"],
  [/\b(?:sys\.exit|os\._exit|process\.exit|exit)\s*\(\s*0?\s*\)/, "ends the program before its tests"],
  [/\bdef\s+__eq__\s*\([^)]*\)[^:]*:\s*\n?\s*return\s+True\b/, "makes everything equal"],
  [/\b(?:conftest\.py|pytest_runtest_\w+|unittest\.mock|monkeypatch)\b/, "changes the tests"],
  [/\b(?:reward|score|verdict)(?:\.txt|\.json|_file)\b/, "names the grader's file"],
  [/\b(?:inspect\.stack|sys\._getframe|gc\.get_objects)\s*\(/, "searches the grader's memory"]
]

const found = ({ texts }: Episode) =>
  texts.flatMap(([, text]) =>
    marks.flatMap(([pattern, purpose]) => {
      const [match] = pattern.exec(text) ?? []
      return match === undefined ? [] : [{ match, purpose }]
    })
  )

/** Suspects members whose texts try to influence or change their grading. */
export const tampering = (episodes: ReadonlyArray<Episode>): ReadonlyArray<Suspicion> => {
  const suspects = episodes.flatMap((episode) => found(episode).slice(0, 1).map((one) => ({ ...one, episode })))
  const [first] = suspects
  return first === undefined ? [] : [{
    check: "tampering",
    detail: `a text ${first.purpose}: ${JSON.stringify(first.match.slice(0, shown))}`,
    members: suspects.map(({ episode }) => episode.member)
  }]
}
