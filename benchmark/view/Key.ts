/**
 * The right answers to questions about a run, from the lines of its `records.jsonl` and `payloads.jsonl`. The key uses no code of the page,
 * of its reader or of the rest of the repository.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"

/** A record or payload as parsed JSON. */
export type Json = { readonly [key: string]: unknown }

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

/** The value at a path of names and indices; undefined if there is none. */
export const at = (value: unknown, ...path: ReadonlyArray<string | number>): unknown =>
  path.reduce<unknown>(
    (found, step) =>
      Array.isArray(found) && typeof step === "number"
        ? found.at(step)
        : isObject(found)
        ? found[step]
        : undefined,
    value
  )

export const number = (value: unknown, ...path: ReadonlyArray<string | number>): number => {
  const found = at(value, ...path)
  return typeof found === "number" ? found : NaN
}

export const text = (value: unknown, ...path: ReadonlyArray<string | number>): string =>
  String(at(value, ...path) ?? "")

export const list = (value: unknown, ...path: ReadonlyArray<string | number>): ReadonlyArray<unknown> => {
  const found = at(value, ...path)
  return Array.isArray(found) ? found : []
}

export interface Run {
  readonly name: string
  readonly folder: string
  readonly records: ReadonlyArray<Json>
  /** Milliseconds between the last record before an interruption and the first after it. */
  readonly pause: number
  readonly of: (tag: string) => ReadonlyArray<Json>
  /** The groups of an evaluator or, without one, of training. */
  readonly groups: (evaluator?: string) => ReadonlyArray<Json>
  /** The payload that belongs to a group's record. */
  readonly payload: (record: Json) => Json
}

/** The records that no resume abandoned. Each later segment continues from the record that its first record names. */
const kept = (records: ReadonlyArray<Json>): ReadonlyArray<Json> =>
  records.reduce<ReadonlyArray<Json>>(
    (before, record) =>
      record["_tag"] === "Opened" && before.length > 0
        ? [...before.filter((other) => number(other, "sequence") <= number(record, "continuesAfter")), record]
        : [...before, record],
    []
  )

export const read = (folder: string, name: string): Run => {
  const lines = readFileSync(join(folder, name, "records.jsonl"), "utf8").trimEnd().split("\n")
  const payloads = readFileSync(join(folder, name, "payloads.jsonl"))
  const written = lines.map((line): Json => JSON.parse(line))
  const records = kept(written)
  const pause = written.reduce((sum, record, index) => {
    const before = written[index - 1]
    return record["_tag"] === "Opened" && before !== undefined &&
        number(before, "sequence") > number(records[0], "sequence")
      ? sum + number(record, "at") - number(before, "at")
      : sum
  }, 0)
  const of = (tag: string) => records.filter(({ _tag }) => _tag === tag)
  return {
    name,
    folder: join(folder, name),
    records,
    pause,
    of,
    groups: (evaluator) => of("GroupRolledOut").filter((record) => record["evaluator"] === evaluator),
    payload: (record) => {
      const [offset, length] = [number(record, "payload", "offset"), number(record, "payload", "length")]
      return JSON.parse(payloads.subarray(offset, offset + length).toString())
    }
  }
}

const mean = (values: ReadonlyArray<number>) => values.reduce((sum, value) => sum + value, 0) / values.length

/** The first evaluator's first and last measurement: negative log-likelihood, or else margin, or else share of correct answers. */
export const change = (run: Run): string => {
  const [first] = run.of("Evaluated")
  const name = text(first, "evaluator")
  const all = run.of("Evaluated").filter(({ evaluator }) => evaluator === name)
  const told = (digits: number, of: (record: unknown) => number) => {
    const [before, after] = [of(all[0]), of(all.at(-1))].map((value) => value.toFixed(digits))
    return `${name} ${before} → ${after}`
  }
  for (const metric of ["nll", "margin"]) {
    if (Number.isFinite(number(first, "metrics", `${name}/${metric}`))) {
      return told(3, (record) => number(record, "metrics", `${name}/${metric}`))
    }
  }
  return told(1, (record) => 100 * number(record, "score", "value"))
}

/** The values of a metric by iteration. */
export const metric = (run: Run, name: string): ReadonlyArray<number> =>
  run.of("Updated").map((record) => number(record, "metrics", name))

/** The problem of a group: its key without the place in the batch. */
const problemOf = (record: Json) => text(record, "key").replace(/^\d+(\.\d+)?\//, "")

type Attempts = ReadonlyArray<ReadonlyArray<number>>

/** The rewards of each problem's attempts by group, in the order of the records. */
const attempts = (groups: ReadonlyArray<Json>): ReadonlyMap<string, Attempts> => {
  const found = new Map<string, Attempts>()
  for (const record of groups) {
    const rewards = list(record, "rewards").filter((reward) => typeof reward === "number")
    if (rewards.length > 0) found.set(problemOf(record), [...found.get(problemOf(record)) ?? [], rewards])
  }
  return found
}

/** The attempts at each problem in the first evaluator's measurements or, for problems that it does not measure, in training. */
export const problems = (run: Run): ReadonlyArray<Attempts> => {
  const evaluator = at(run.of("Evaluated")[0], "evaluator")
  const measured = typeof evaluator === "string" ? attempts(run.groups(evaluator)) : new Map<string, Attempts>()
  return [...new Map([...attempts(run.groups()), ...measured]).values()]
}

/** The latest mean reward of each problem that the evaluator measured. */
export const newest = (run: Run, evaluator: string): ReadonlyMap<string, number> =>
  new Map(run.groups(evaluator).map((record) => [text(record, "key"), mean(list(record, "rewards").map(Number))]))

/** Whether the mean difference is more than 1.96 standard errors from 0. */
export const isClear = (differences: ReadonlyArray<number>): boolean => {
  const center = mean(differences)
  const variance = differences.reduce((sum, one) => sum + (one - center) ** 2, 0) / (differences.length - 1)
  return Math.abs(center) > 1.96 * Math.sqrt(variance / differences.length)
}

const isGood = (reward: number) => reward >= 0.5

/** The number of problems without a good attempt. */
export const neverSolved = (run: Run): number =>
  problems(run).filter((attempts) => !attempts.flat().some(isGood)).length

/** The number of problems whose mean fell from the first to the latest group and crossed between good and bad at most once. */
export const becameWorse = (run: Run): number =>
  problems(run).filter((attempts) => {
    const [means, all] = [attempts.map(mean), attempts.flat()]
    const turns = means.filter((value, index) =>
      index > 0 && isGood(value) !== isGood(means[index - 1] ?? value)
    ).length
    return (means.at(-1) ?? 0) < (means[0] ?? 0) && turns <= 1 && all.some(isGood) && !all.every(isGood)
  }).length

/** Settings with values other than their defaults. */
export const given = (run: Run): ReadonlyArray<readonly [name: string, value: string]> =>
  list(run.of("Opened")[0], "launch", "settings").flatMap((setting) =>
    JSON.stringify(at(setting, "value")) === JSON.stringify(at(setting, "default"))
      ? []
      : [[text(setting, "name"), text(setting, "value")] as const]
  )

/** The number of rollouts that were started, in training and in evaluations. */
export const rollouts = (run: Run): number => run.of("GroupRolledOut").flatMap((group) => list(group, "members")).length

/** The sum of a metric over the turns of each member that reported it. */
export const reported = (run: Run, name: string): ReadonlyArray<{ readonly record: Json; readonly value: number }> =>
  run.of("GroupRolledOut").filter(({ payload }) => payload !== undefined).flatMap((record) =>
    list(run.payload(record), "members").flatMap((member) => {
      const values = list(member, "turns").map((turn) => number(turn, "metrics", name, "value")).filter(Number.isFinite)
      return values.length === 0 ? [] : [{ record, value: values.reduce((sum, value) => sum + value, 0) }]
    })
  )

/** The judged answers of a member. */
export const answers = (run: Run, record: Json, member: number): ReadonlyArray<string> =>
  list(run.payload(record), "members", member, "turns").flatMap((turn) => {
    const answer = at(turn, "score", "answer")
    return typeof answer === "string" ? [answer] : []
  })

/** The user messages that the environment first showed in each turn of a member. */
export const asked = (run: Run, record: Json, member: number): ReadonlyArray<string> =>
  list(run.payload(record), "members", member, "turns").flatMap((turn) => list(turn, "shown", "messages"))
    .filter((message) => text(message, "role") === "user")
    .flatMap((message) => at(message, "content") ?? [])
    .filter((content) => typeof content === "string")

/** The judged answers and the logged texts of a member's turns. */
export const said = (run: Run, record: Json, member: number): ReadonlyArray<string> => [
  ...answers(run, record, member),
  ...list(run.payload(record), "members", member, "turns").flatMap((turn) => {
    const logs = at(turn, "logs")
    return isObject(logs) ? Object.values(logs).map(String).filter((value) => value !== "") : []
  })
]

/** The log-probability of the first sampled token in the last turn of a group's first member. */
export const logprob = (run: Run, record: Json): number =>
  Buffer.from(text(run.payload(record), "members", 0, "turns", -1, "logprobs"), "base64").readFloatLE(0)

type Span = readonly [stage: string, from: number, to: number]

/** The time spans of training rollouts, updates and evaluations. */
const spans = (run: Run): ReadonlyArray<Span> => [
  ...run.groups().map((group): Span => {
    const end = number(group, "at")
    return ["sampling", end - number(group, "milliseconds"), end]
  }),
  ...run.of("Updated").map((record): Span => {
    const credited = run.of("Credited").find(({ iteration }) => iteration === record["iteration"])
    const seconds = list(record, "updates").reduce<number>((sum, update) => sum + number(update, "seconds"), 0)
    const end = number(record, "at")
    return ["training", credited === undefined ? end - 1000 * seconds : number(credited, "at"), end]
  }),
  ...run.of("Evaluated").map((record): Span => {
    const began = run.of("Evaluating").find(({ evaluator, iteration }) =>
      evaluator === record["evaluator"] && iteration === record["iteration"]
    )
    return ["evaluation", number(began, "at"), number(record, "at")]
  })
]

/** Milliseconds from the start of the first stage to the end of the last, without the time in which no process ran. */
const milliseconds = (run: Run): number => {
  const all = spans(run)
  return Math.max(...all.map(([, , to]) => to)) - Math.min(...all.map(([, from]) => from)) - run.pause
}

/** A stage's share of the time. Concurrent stages share their time equally. */
export const share = (run: Run, stage: string): number => {
  const all = spans(run)
  const edges = [...new Set(all.flatMap(([, from, to]) => [from, to]))].toSorted((left, right) => left - right)
  const sum = edges.slice(1).reduce((sum, to, index) => {
    const from = edges[index] ?? to
    const stages = new Set(all.filter(([, begin, end]) => begin < to && end > from).map(([stage]) => stage))
    return sum + (stages.has(stage) ? (to - from) / stages.size : 0)
  }, 0)
  return sum / milliseconds(run)
}

/** A group's advantages, divided by the sample standard deviation of its rewards. */
export const normalized = (rewards: ReadonlyArray<number>): ReadonlyArray<number> => {
  const center = mean(rewards)
  const deviation = Math.sqrt(rewards.reduce((sum, reward) => sum + (reward - center) ** 2, 0) / (rewards.length - 1))
  return rewards.map((reward) => (reward - center) / deviation)
}

/** The sum of prefilled, sampled and trained tokens in a record. */
const tokensOf = (record: Json | undefined): number =>
  number(record, "spent", "prefilled") + number(record, "spent", "sampled") + number(record, "spent", "trained")

const counting = ({ records }: Run) => records.filter(({ _tag }) => _tag === "Updated" || _tag === "Evaluated")

export const spentTokens = (run: Run): number => tokensOf(counting(run).at(-1))

/** An evaluator's latest score up to this number of tokens. */
export const scoreAt = (run: Run, evaluator: string, tokens: number): number =>
  number(
    run.of("Evaluated").filter((record) => record["evaluator"] === evaluator && tokensOf(record) <= tokens).at(-1),
    "score",
    "value"
  )

/** The mean reward of rollouts by tag, including evaluations. */
export const tagMeans = (run: Run) => {
  const rewards = new Map<string, Array<number>>()
  for (const group of run.of("GroupRolledOut")) {
    const known = list(group, "rewards").filter((reward) => typeof reward === "number")
    for (const tag of list(group, "tags").map(String)) rewards.set(tag, [...rewards.get(tag) ?? [], ...known])
  }
  return [...rewards].map(([tag, all]) => ({ tag, mean: mean(all), rollouts: all.length }))
}

/** The process's memory and busy processors by iteration, and the mean number of concurrent requests to the policy. */
export const machine = (run: Run) => {
  const over = (values: ReadonlyArray<number>) => ({
    mean: mean(values),
    newest: values.at(-1) ?? NaN,
    most: Math.max(...values)
  })
  const all = run.of("Updated")
  const sampling = run.of("GroupRolledOut").map((group) => number(group, "times", "sampling")).filter(Number.isFinite)
    .reduce((sum, time) => sum + time, 0)
  return {
    memory: over(all.map((record) => number(record, "process", "memory") / 2 ** 30)),
    processors: over(all.map((record) => number(record, "process", "processors"))),
    requests: sampling / milliseconds(run)
  }
}
