/** Logs of Inspect: one `.eval` for each evaluation and each iteration. */
import { Statistics } from "@effect-rl/core/evaluation"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import * as Conversation from "../run/Conversation.ts"
import * as Period from "../run/Period.ts"
import * as Rollouts from "../run/Rollouts.ts"
import * as Projection from "./Projection.ts"
import * as Zip from "./Zip.ts"

/** The version of Inspect's log schema. @see inspect_ai `log/_recorders/eval.py` */
const schemaVersion = 2

/** Name of the only score. */
const scorer = "reward"

interface Told {
  readonly batch: Rollouts.Batch
  readonly members: ReadonlyArray<Rollouts.Member>
  readonly model: string
  readonly decode: Conversation.Decode | undefined
}

const time = (milliseconds: number) => DateTime.formatIso(DateTime.makeUnsafe(milliseconds))

const usageOf = ({ trajectory }: Rollouts.Member) => {
  const read = trajectory.transitions.reduce((sum, { observation }) => sum + observation.length, 0)
  const written = trajectory.transitions.reduce((sum, { action }) => sum + action.tokens.length, 0)
  return { input_tokens: read, output_tokens: written, total_tokens: read + written }
}

const scoreOf = ({ reward, trajectory }: Rollouts.Member, said: ReadonlyArray<Conversation.Turn>) => ({
  [scorer]: {
    value: Number.isFinite(reward) ? reward : "N",
    answer: said.at(-1)?.response ?? "",
    metadata: { stop_reason: Option.getOrNull(trajectory.stopReason) }
  }
})

/** What a sample and its summary have in common: a group is a sample, its members are epochs. */
const common = (member: Rollouts.Member, said: ReadonlyArray<Conversation.Turn>, model: string) => {
  const { advantage, group, trajectory } = member
  const { key, tags } = group.record
  const { end, start } = Period.member(group.record, trajectory)
  return {
    id: key,
    epoch: member.member + 1,
    uuid: `${key}#${member.member}`,
    input: said[0]?.prompt ?? "",
    target: Conversation.reference(trajectory) ?? "",
    metadata: { tags, advantage: advantage ?? null, sampler_step: group.record.step },
    scores: scoreOf(member, said),
    model_usage: { [model]: usageOf(member) },
    started_at: time(start),
    completed_at: time(end),
    total_time: (end - start) / 1000
  }
}

const sampleOf = ({ decode, model }: Told) => (member: Rollouts.Member) => {
  const said = Conversation.turns(member.trajectory, decode)
  const messages = Conversation.messages(said).map((message, index) => ({
    ...message,
    id: `${member.member}-${index}`,
    ...(message.role === "assistant" ? { source: "generate", model } : { source: "input" })
  }))
  const answer = messages.at(-1)
  const cut = member.trajectory.transitions.at(-1)?.action.stopReason === "length"
  const sample = {
    ...common(member, said, model),
    messages,
    output: answer === undefined
      ? { model, choices: [] }
      : { model, choices: [{ message: answer, stop_reason: cut ? "max_tokens" : "stop" }], completion: answer.content },
    store: {},
    events: [],
    attachments: {}
  }
  const summary = { ...common(member, said, model), completed: true, message_count: messages.length }
  return { sample, summary }
}

/** Tokens of all samples, as Inspect sums them over a log. */
const usageOfAll = (members: ReadonlyArray<Rollouts.Member>) => {
  const all = { input_tokens: 0, output_tokens: 0, total_tokens: 0 }
  for (const usage of members.map(usageOf)) {
    all.input_tokens += usage.input_tokens
    all.output_tokens += usage.output_tokens
    all.total_tokens += usage.total_tokens
  }
  return all
}

const resultsOf = ({ batch, members }: Told) => ({
  total_samples: batch.groups.reduce((sum, { members }) => sum + members.length, 0),
  completed_samples: members.length,
  scores: members.length === 0 ? [] : [{
    name: scorer,
    scorer,
    params: {},
    metrics: { mean: { name: "mean", value: Statistics.mean(members.map(({ reward }) => reward)), params: {} } }
  }]
})

const taskOf = ({ evaluator, iteration }: Rollouts.Batch) =>
  evaluator === undefined ? `train iteration ${iteration}` : `${evaluator} before iteration ${iteration}`

const headerOf = (told: Told) => {
  const { batch, members, model } = told
  const began = Math.min(...batch.groups.map(({ at, milliseconds }) => at - milliseconds))
  const ended = Math.max(...batch.groups.map(({ at }) => at))
  const keys = [...new Set(batch.groups.map(({ key }) => key))]
  return {
    version: schemaVersion,
    status: "success",
    eval: {
      eval_id: taskOf(batch).replaceAll(" ", "-"),
      run_id: `iteration-${batch.iteration}`,
      created: time(began),
      task: taskOf(batch),
      task_id: taskOf(batch).replaceAll(" ", "-"),
      task_version: 0,
      dataset: { name: batch.evaluator ?? "train", samples: keys.length, sample_ids: keys, shuffled: false },
      model,
      config: { epochs: Math.max(1, ...members.map(({ member }) => member + 1)) },
      packages: {},
      metadata: { iteration: batch.iteration, evaluator: batch.evaluator ?? null }
    },
    plan: { name: "plan", steps: [], config: {} },
    results: resultsOf(told),
    stats: { started_at: time(began), completed_at: time(ended), model_usage: { [model]: usageOfAll(members) } }
  }
}

const filesOf = (told: Told): ReadonlyArray<readonly [name: string, content: string]> => {
  const samples = told.members.map(sampleOf(told))
  const header = headerOf(told)
  const { eval: spec, plan, version } = header
  return [
    ["_journal/start.json", JSON.stringify({ version, eval: spec, plan })],
    ...samples.map(({ sample }) =>
      [`samples/${sample.id}_epoch_${sample.epoch}.json`, JSON.stringify(sample)] as const
    ),
    ["summaries.json", JSON.stringify(samples.map(({ summary }) => summary))],
    ["header.json", JSON.stringify(header)]
  ]
}

/** Inspect finds logs by their names: time, task and id. */
const fileName = ({ evaluator, groups, iteration }: Rollouts.Batch) => {
  const at = time(groups[0]?.at ?? 0).replaceAll(/[:.]/g, "-")
  const task = (evaluator ?? "train").replaceAll(/[^A-Za-z0-9-]/g, "-")
  return `${at}_${task}_${String(iteration).padStart(6, "0")}.eval`
}

/**
 * Writes the logs into a folder. In each, a group is a sample, and its members are the sample's epochs.
 *
 * @example
 * Inspect.write(reader, "logs", { decode: tokenizer.decode })
 */
export const write: Projection.Projection = Effect.fnUntraced(function*(run, out, { decode } = {}) {
  const path = yield* Path.Path
  const model = Rollouts.model(yield* Stream.runCollect(run.read))
  yield* Stream.runForEach(Rollouts.stream(run), ([batch, groups]) => {
    const file = path.join(out, fileName(batch))
    const files = filesOf({ batch, members: groups.flatMap(Rollouts.members), model, decode })
    if (files.length > Zip.mostFiles) {
      const detail = `${files.length} rollouts are more than one log can hold, expected up to ${Zip.mostFiles - 3}`
      return Effect.fail(new Projection.ProjectionError({ file, detail }))
    }
    return Projection.writeFile(file, Stream.fromIterable(Zip.archive(files)))
  })
})
