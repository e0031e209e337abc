/** The outcome of a run on the engine, read from its folder. */
import { Schema } from "effect"
import { createHash } from "node:crypto"
import { existsSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"

type Line = Readonly<Record<string, unknown>>

const lines = (file: string): ReadonlyArray<Line> =>
  existsSync(file) ? readFileSync(file, "utf8").trim().split("\n").filter(Boolean).map((line) => JSON.parse(line)) : []

const isOwn = (name: string) => !name.startsWith("time/") && name !== "segment"

const withoutTimes = (line: Line) => JSON.stringify(Object.entries(line).filter(([name]) => isOwn(name)))

const hash = (file: string) => createHash("sha256").update(readFileSync(file)).digest("hex")

/** A payload without its turns' times. */
const untimed = (payload: string): unknown =>
  JSON.parse(payload, (name, value) => name === "times" || name === "grading" ? undefined : value)

/** The records without those that a resume abandoned. */
const current = (records: ReadonlyArray<Line>): ReadonlyArray<Line> => {
  const story: Array<Line> = []
  for (const record of records) {
    if (record["_tag"] === "Opened") {
      while (Number(story.at(-1)?.["sequence"] ?? -1) > Number(record["continuesAfter"])) story.pop()
    }
    story.push(record)
  }
  return story
}

const ofKind = (records: ReadonlyArray<Line>, tag: string) => records.filter((record) => record["_tag"] === tag)

/** The groups that count, with their payloads, without times and file positions. */
const groups = (folder: string) => {
  const file = join(folder, "payloads.jsonl")
  const payloads = existsSync(file) ? readFileSync(file) : Buffer.alloc(0)
  return ofKind(current(lines(join(folder, "records.jsonl"))), "GroupRolledOut").map((record) => {
    const { length, offset } = JSON.parse(JSON.stringify(record["payload"]))
    const { evaluator, iteration, key, rewards, step, usage } = record
    return JSON.stringify({
      evaluator,
      iteration,
      key,
      rewards,
      step,
      usage,
      payload: untimed(payloads.subarray(offset, offset + length).toString())
    })
  }).toSorted()
}

const count = (folder: string) => {
  const file = join(folder, "sampled")
  return existsSync(file) ? statSync(file).size : 0
}

/** The records that were written completely. */
const written = (folder: string): ReadonlyArray<Line> => {
  const file = join(folder, "records.jsonl")
  const text = existsSync(file) ? readFileSync(file, "utf8") : ""
  return text.split("\n").slice(0, -1).map((line) => JSON.parse(line))
}

/** The sequences that a run requested from its backend, and those of all groups that it ever recorded. */
export const sampled = (folder: string) => {
  const groups = ofKind(written(folder), "GroupRolledOut")
  const members = new Map(groups.map(({ evaluator, iteration, key, members }) => [
    JSON.stringify([evaluator, iteration, key]),
    members
  ]))
  return { asked: count(folder), recorded: [...members.values()].flat().length }
}

/** Everything about a finished run that must not depend on how often it was interrupted. */
export const outcome = (folder: string) => {
  const last = lines(join(folder, "checkpoints.jsonl")).at(-1)
  const state = join(folder, "checkpoints", String(last?.["state_path"]).replace("engine://", ""))
  return {
    name: last?.["name"],
    tokens: last?.["tokens"],
    // Evaluations that run beside training end in any order.
    metrics: lines(join(folder, "metrics.jsonl")).map(withoutTimes).toSorted(),
    groups: groups(folder),
    adapter: hash(join(state, "adapter_model.safetensors")),
    optimizer: hash(join(state, "optimizer.safetensors"))
  }
}

const Credited = Schema.Struct({
  iteration: Schema.Int,
  groups: Schema.Array(Schema.Struct({
    iteration: Schema.Int,
    key: Schema.String,
    verdict: Schema.String,
    advantages: Schema.Array(Schema.Number),
    staleness: Schema.Struct({ inFlight: Schema.Int, inQueue: Schema.Int })
  }))
})

const Updated = Schema.Struct({
  iteration: Schema.Int,
  metrics: Schema.Struct({
    "tokens/total_prefilled": Schema.Int,
    "tokens/total_sampled": Schema.Int,
    "tokens/total_trained": Schema.Int
  }),
  updates: Schema.Array(Schema.Struct({
    metrics: Schema.Record(Schema.String, Schema.Unknown),
    passes: Schema.Array(Schema.Unknown)
  }))
})

const Evaluated = Schema.Struct({
  iteration: Schema.Int,
  step: Schema.Int,
  score: Schema.Unknown,
  reward: Schema.Unknown
})

const evaluated = Schema.decodeUnknownSync(Schema.Array(Evaluated))
const credited = Schema.decodeUnknownSync(Schema.Array(Credited))
const updated = Schema.decodeUnknownSync(Schema.Array(Updated))

/** A run's schedule so far, from its records. */
export const schedule = (folder: string) => {
  const story = current(written(folder))
  const credits = credited(ofKind(story, "Credited"))
  return {
    /** The groups of each update, with their ages. */
    credited: credits,
    /** The exact results of each update. */
    updated: updated(ofKind(story, "Updated")),
    trained: credits.flatMap(({ groups }) => groups.map(({ iteration, key }) => `${iteration} ${key}`)),
    /** The results of each evaluation. */
    evaluated: evaluated(ofKind(story, "Evaluated")).toSorted((left, right) => left.iteration - right.iteration)
  }
}
