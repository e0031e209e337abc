/**
 * The right answers to questions about a run, from the lines of its `records.jsonl` and `payloads.jsonl`. Nothing of the page, of its
 * reader or of the repository is used.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"

/** A record or a payload as JSON has it. */
export type Json = { readonly [key: string]: unknown }

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

/** The value at a path of names and places; undefined where there is none. */
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
  /** The groups of training, and those of an evaluator. */
  readonly groups: (evaluator?: string) => ReadonlyArray<Json>
  /** The payload of a group's record. */
  readonly payload: (record: Json) => Json
}

/** The records of a run that no resume abandoned: a later segment goes on from the record that its beginning names. */
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

/** What the first evaluator measured first and last: its negative log-likelihood, else its margin, else its share of right answers. */
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

/** Numbers of a metric, iteration by iteration. */
export const metric = (run: Run, name: string): ReadonlyArray<number> =>
  run.of("Updated").map((record) => number(record, "metrics", name))

/** The problem of a group, without its place in the batch. */
const problemOf = (record: Json) => text(record, "key").replace(/^\d+(\.\d+)?\//, "")

type Attempts = ReadonlyArray<ReadonlyArray<number>>

/** The rewards of each problem's attempts, group by group in the order of the records, over the groups of one source. */
const attempts = (groups: ReadonlyArray<Json>): ReadonlyMap<string, Attempts> => {
  const found = new Map<string, Attempts>()
  for (const record of groups) {
    const rewards = list(record, "rewards").filter((reward) => typeof reward === "number")
    if (rewards.length > 0) found.set(problemOf(record), [...found.get(problemOf(record)) ?? [], rewards])
  }
  return found
}

/** The problems with their attempts in the first evaluator's measurements; of problems that it does not measure, in training. */
export const problems = (run: Run): ReadonlyArray<Attempts> => {
  const evaluator = at(run.of("Evaluated")[0], "evaluator")
  const measured = typeof evaluator === "string" ? attempts(run.groups(evaluator)) : new Map<string, Attempts>()
  return [...new Map([...attempts(run.groups()), ...measured]).values()]
}

/** The newest mean reward of each problem that the evaluator measured. */
export const newest = (run: Run, evaluator: string): ReadonlyMap<string, number> =>
  new Map(run.groups(evaluator).map((record) => [text(record, "key"), mean(list(record, "rewards").map(Number))]))

/** Whether the mean of the differences is further from 0 than 1.96 of its standard errors. */
export const isClear = (differences: ReadonlyArray<number>): boolean => {
  const center = mean(differences)
  const variance = differences.reduce((sum, one) => sum + (one - center) ** 2, 0) / (differences.length - 1)
  return Math.abs(center) > 1.96 * Math.sqrt(variance / differences.length)
}

const isGood = (reward: number) => reward >= 0.5

/** Problems of which no attempt was good. */
export const neverSolved = (run: Run): number =>
  problems(run).filter((attempts) => !attempts.flat().some(isGood)).length

/** Problems with a lower mean in the newest group than in the first, which went from good to bad or back at most once. */
export const becameWorse = (run: Run): number =>
  problems(run).filter((attempts) => {
    const [means, all] = [attempts.map(mean), attempts.flat()]
    const turns = means.filter((value, index) =>
      index > 0 && isGood(value) !== isGood(means[index - 1] ?? value)
    ).length
    return (means.at(-1) ?? 0) < (means[0] ?? 0) && turns <= 1 && all.some(isGood) && !all.every(isGood)
  }).length

/** Settings that were given values other than their defaults. */
export const given = (run: Run): ReadonlyArray<readonly [name: string, value: string]> =>
  list(run.of("Opened")[0], "launch", "settings").flatMap((setting) =>
    JSON.stringify(at(setting, "value")) === JSON.stringify(at(setting, "default"))
      ? []
      : [[text(setting, "name"), text(setting, "value")] as const]
  )

/** How many rollouts were begun, in training and in evaluations. */
export const rollouts = (run: Run): number => run.of("GroupRolledOut").flatMap((group) => list(group, "members")).length

/** A sum of the metrics that members reported. */
export const reported = (run: Run, name: string): ReadonlyArray<{ readonly record: Json; readonly value: number }> =>
  run.of("GroupRolledOut").filter(({ payload }) => payload !== undefined).flatMap((record) =>
    list(run.payload(record), "members").flatMap((member) => {
      const values = list(member, "turns").map((turn) => number(turn, "metrics", name, "value")).filter(Number.isFinite)
      return values.length === 0 ? [] : [{ record, value: values.reduce((sum, value) => sum + value, 0) }]
    })
  )

/** The answers of a member that were judged. */
export const answers = (run: Run, record: Json, member: number): ReadonlyArray<string> =>
  list(run.payload(record), "members", member, "turns").flatMap((turn) => {
    const answer = at(turn, "score", "answer")
    return typeof answer === "string" ? [answer] : []
  })

/** What a member was asked and told by its environment: the user's messages that its turns were first shown. */
export const asked = (run: Run, record: Json, member: number): ReadonlyArray<string> =>
  list(run.payload(record), "members", member, "turns").flatMap((turn) => list(turn, "shown", "messages"))
    .filter((message) => text(message, "role") === "user")
    .flatMap((message) => at(message, "content") ?? [])
    .filter((content) => typeof content === "string")

/** What the policy said in the turns of a member, as the environment judged or logged it, and the answers of tools. */
export const said = (run: Run, record: Json, member: number): ReadonlyArray<string> => [
  ...answers(run, record, member),
  ...list(run.payload(record), "members", member, "turns").flatMap((turn) => {
    const logs = at(turn, "logs")
    return isObject(logs) ? Object.values(logs).map(String).filter((value) => value !== "") : []
  })
]

/** The log-probability of the first token that the first member of a group sampled in its last turn. */
export const logprob = (run: Run, record: Json): number =>
  Buffer.from(text(run.payload(record), "members", 0, "turns", -1, "logprobs"), "base64").readFloatLE(0)

type Span = readonly [stage: string, from: number, to: number]

/** When groups were rolled out for training, updates were made and evaluators measured. */
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

/** Milliseconds from the beginning of the first stage to the end of the last, without those in which no process wrote the run. */
const milliseconds = (run: Run): number => {
  const all = spans(run)
  return Math.max(...all.map(([, , to]) => to)) - Math.min(...all.map(([, from]) => from)) - run.pause
}

/** The share of a stage of the time, where stages that run at the same time share it equally. */
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

/** The advantages of a group of rewards divided by their deviation, of the sample. */
export const normalized = (rewards: ReadonlyArray<number>): ReadonlyArray<number> => {
  const center = mean(rewards)
  const deviation = Math.sqrt(rewards.reduce((sum, reward) => sum + (reward - center) ** 2, 0) / (rewards.length - 1))
  return rewards.map((reward) => (reward - center) / deviation)
}

/** Tokens read, sampled and trained until the newest record that counts them. */
const tokensOf = (record: Json | undefined): number =>
  number(record, "spent", "prefilled") + number(record, "spent", "sampled") + number(record, "spent", "trained")

const counting = ({ records }: Run) => records.filter(({ _tag }) => _tag === "Updated" || _tag === "Evaluated")

export const spentTokens = (run: Run): number => tokensOf(counting(run).at(-1))

/** What an evaluator had measured by the time that this many tokens were spent. */
export const scoreAt = (run: Run, evaluator: string, tokens: number): number =>
  number(
    run.of("Evaluated").filter((record) => record["evaluator"] === evaluator && tokensOf(record) <= tokens).at(-1),
    "score",
    "value"
  )

/** The mean reward of the rollouts of each tag, evaluations included. */
export const tagMeans = (run: Run) => {
  const rewards = new Map<string, Array<number>>()
  for (const group of run.of("GroupRolledOut")) {
    const known = list(group, "rewards").filter((reward) => typeof reward === "number")
    for (const tag of list(group, "tags").map(String)) rewards.set(tag, [...rewards.get(tag) ?? [], ...known])
  }
  return [...rewards].map(([tag, all]) => ({ tag, mean: mean(all), rollouts: all.length }))
}

/** Memory and busy processors of the process by iteration, and how many requests were at the policy at a time, on average. */
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
