/** Inspect logs: one `.eval` file per evaluation and per iteration. */
import { Statistics } from "@effect-rl/core/evaluation"
import { Conversation, type Rollouts } from "@effect-rl/core/records"
import { OpenAi } from "@effect-rl/core/renderers"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Period from "../run/Period.ts"
import * as Projection from "./Projection.ts"
import * as Zip from "./Zip.ts"

/** The version of Inspect's log schema. @see inspect_ai `log/_recorders/eval.py` */
const schemaVersion = 2

/** Decodes a JSON object; none for other text. */
const readObject = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.JsonObject))

/** The name of each sample's only score. */
const scorer = "reward"

const time = (milliseconds: number) => DateTime.formatIso(DateTime.makeUnsafe(milliseconds))

const usageOf = ({ trajectory }: Rollouts.Member) => {
  const read = trajectory.transitions.reduce((sum, { observation }) => sum + observation.length, 0)
  const written = trajectory.transitions.reduce((sum, { action }) => sum + action.tokens.length, 0)
  return { input_tokens: read, output_tokens: written, total_tokens: read + written }
}

const lastText = ([last]: ReadonlyArray<Conversation.Turn>) => last === undefined ? "" : Conversation.text(last.said)

const scoreOf = ({ reward, trajectory, turns }: Rollouts.Told) => ({
  [scorer]: {
    value: Number.isFinite(reward) ? reward : "N",
    answer: lastText(turns.slice(-1)),
    metadata: { stop_reason: Option.getOrNull(trajectory.stopReason) }
  }
})

/** A tool call with decoded arguments, or with one text argument if they are not a JSON object. */
const callOf = ({ function: { arguments: given, name }, id }: OpenAi.ToolCall) => ({
  id,
  function: name,
  arguments: Option.getOrElse(readObject(given), () => ({ arguments: given })),
  type: "function"
})

const messageOf = ({ reasoning_content: reasoning, tool_calls: calls, ...message }: OpenAi.ChatMessage) => ({
  ...message,
  ...(typeof reasoning === "string"
    ? { content: [{ type: "reasoning", reasoning }, { type: "text", text: message.content ?? "" }] }
    : {}),
  ...(calls === undefined || calls === null ? {} : { tool_calls: calls.map(callOf) }),
  ...(message.role === "tool" ? { function: message.name } : {})
})

/** The first prompt: a text if it is a single user message, otherwise the list of messages. */
const inputOf = ([first]: ReadonlyArray<Conversation.Turn>) => {
  const [only, ...others] = first?.shown ?? []
  if (first === undefined || only === undefined) return ""
  return others.length === 0 && only.role === "user"
    ? Conversation.shownText(first)
    : OpenAi.fromMessages(first.shown).map((message) => ({ ...messageOf(message), source: "input" }))
}

/** The fields that a sample and its summary share. A group is a sample; its members are epochs. */
const common = (member: Rollouts.Told, model: string) => {
  const { advantage, departures, group, trajectory, turns } = member
  const { key, tags } = group.record
  const { end, start } = Period.member(group.record, trajectory)
  return {
    id: key,
    epoch: member.member + 1,
    uuid: `${key}#${member.member}`,
    input: inputOf(turns),
    target: trajectory.task?.reference ?? "",
    metadata: {
      tags,
      advantage: advantage ?? null,
      sampler_step: group.record.step,
      turn_sampler_steps: Projection.samplerSteps(member),
      tools: Conversation.toOpenAiTools(turns).map((tool) => tool.function),
      departures
    },
    scores: scoreOf(member),
    model_usage: { [model]: usageOf(member) },
    started_at: time(start),
    completed_at: time(end),
    total_time: (end - start) / 1000
  }
}

const sampleOf = ({ model }: Projection.Batch) => (member: Rollouts.Told) => {
  const messages = Conversation.toOpenAi(member.turns).map((message, index) => ({
    ...messageOf(message),
    id: `${member.member}-${index}`,
    ...(message.role === "assistant" ? { source: "generate", model } : { source: "input" })
  }))
  const answer = messages.findLast(({ role }) => role === "assistant")
  const cut = member.trajectory.transitions.at(-1)?.action.stopReason === "length"
  const sample = {
    ...common(member, model),
    messages,
    output: answer === undefined
      ? { model, choices: [] }
      : {
        model,
        choices: [{ message: answer, stop_reason: cut ? "max_tokens" : "stop" }],
        completion: lastText(member.turns.slice(-1))
      },
    store: {},
    events: [],
    attachments: {}
  }
  const summary = { ...common(member, model), completed: true, message_count: messages.length }
  return { sample, summary }
}

/** Total tokens of all samples, as Inspect sums them over a log. */
const usageOfAll = (members: ReadonlyArray<Rollouts.Member>) => {
  const all = { input_tokens: 0, output_tokens: 0, total_tokens: 0 }
  for (const usage of members.map(usageOf)) {
    all.input_tokens += usage.input_tokens
    all.output_tokens += usage.output_tokens
    all.total_tokens += usage.total_tokens
  }
  return all
}

const resultsOf = ({ groups, members }: Projection.Batch) => ({
  total_samples: groups.reduce((sum, { members }) => sum + members.length, 0),
  completed_samples: members.length,
  scores: members.length === 0 ? [] : [{
    name: scorer,
    scorer,
    params: {},
    metrics: { mean: { name: "mean", value: Statistics.mean(members.map(({ reward }) => reward)), params: {} } }
  }]
})

const taskOf = ({ evaluator, iteration }: Projection.Batch) =>
  evaluator === undefined ? `train iteration ${iteration + 1}` : `${evaluator} after ${iteration} iterations`

const headerOf = (batch: Projection.Batch) => {
  const { members, model } = batch
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
    results: resultsOf(batch),
    stats: { started_at: time(began), completed_at: time(ended), model_usage: { [model]: usageOfAll(members) } }
  }
}

const filesOf = (batch: Projection.Batch): ReadonlyArray<readonly [name: string, content: string]> => {
  const samples = batch.members.map(sampleOf(batch))
  const header = headerOf(batch)
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

/** A log's file name. Inspect finds logs by names that consist of time, task and id. */
const fileName = ({ evaluator, groups, iteration }: Projection.Batch) => {
  const at = time(groups[0]?.at ?? 0).replaceAll(/[:.]/g, "-")
  const task = (evaluator ?? "train").replaceAll(/[^A-Za-z0-9-]/g, "-")
  return `${at}_${task}_${String(iteration).padStart(6, "0")}.eval`
}

/**
 * Writes the logs into a folder. Each group is a sample, and its members are the sample's epochs. `departures` in a sample's metadata lists
 * the turns whose prompts, rendered again from the messages, differ from the recorded tokens; it is null if the run's renderer is unknown.
 *
 * @example
 * Inspect.write(reader, "logs", { language: tokenizer })
 */
export const write: Projection.Projection = Effect.fnUntraced(function*(run, out, { language } = {}) {
  const path = yield* Path.Path
  yield* Stream.runForEach(Projection.batches(run, language), (batch) => {
    const file = path.join(out, fileName(batch))
    const files = filesOf(batch)
    if (files.length > Zip.mostFiles) {
      const detail = `${files.length} rollouts are more than one log can hold, expected up to ${Zip.mostFiles - 3}`
      return Effect.fail(new Projection.ProjectionError({ file, detail }))
    }
    return Projection.writeFile(file, Stream.fromIterable(Zip.archive(files)))
  })
})
