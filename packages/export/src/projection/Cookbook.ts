/** The files that tinker-cookbook writes for a run, for its own and compatible tools. */
import type { EnvMetric, RunRecord } from "@effect-rl/core"
import type { GroupResult } from "@effect-rl/core/program"
import { Conversation, type Rollouts, StoryReader } from "@effect-rl/core/records"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import * as RunSpans from "../run/RunSpans.ts"
import * as Logtree from "./Logtree.ts"
import * as Projection from "./Projection.ts"

const metricsOf = (metrics: EnvMetric.Metrics) =>
  Object.fromEntries(
    Object.entries(metrics).map(([name, metric]) => [name, metric.kind === "rate" ? Number(metric.hit) : metric.value])
  )

/** The metrics that the group's rewards reported for a member. */
const groupMetrics = (result: GroupResult.GroupResult, member: number) =>
  result._tag === "Skipped" ? {} : metricsOf(result.metricsG[member] ?? {})

/** A line of `…_rollout_summaries.jsonl`. @see tinker-cookbook `serialize_rollout_summaries` */
const summaryOf =
  ({ evaluator, iteration }: Projection.Batch) => ({ group, member, reward, trajectory }: Rollouts.Member) => ({
    schema_version: 1,
    split: evaluator === undefined ? "train" : `eval/${evaluator}`,
    iteration,
    group_idx: group.index,
    traj_idx: member,
    tags: group.record.tags,
    sampling_client_step: group.record.step,
    total_reward: reward,
    final_reward: reward - trajectory.stepReward,
    trajectory_metrics: groupMetrics(group.result, member),
    steps: trajectory.transitions.map(({ action, logs, metrics, observation, reward }, step) => ({
      step_idx: step,
      ob_len: observation.length,
      ac_len: action.tokens.length,
      reward,
      sampling_client_step: action.samplerStep ?? group.record.step,
      episode_done: step + 1 === trajectory.transitions.length,
      metrics: metricsOf(metrics),
      logs
    })),
    final_ob_len: 0
  })

const baseName = (evaluator: string | undefined) =>
  evaluator === undefined ? "train" : `eval_${evaluator.replaceAll(/[^\w.-]/g, "_")}`

const title = ({ evaluator, iteration }: Projection.Batch) =>
  evaluator === undefined ? `RL iteration ${iteration}` : `Evaluation ${evaluator} before iteration ${iteration}`

const memberSection = (member: Rollouts.Told): Logtree.Node => {
  const reference = member.trajectory.task?.reference
  return Logtree.section(4, `Trajectory ${member.member}`, [
    ...Conversation.toOpenAiTools(member.turns).map((tool) => Logtree.text(`Tool: ${JSON.stringify(tool.function)}`)),
    Logtree.conversation(Conversation.toOpenAi(member.turns)),
    ...(reference === undefined ? [] : [Logtree.text(`Reference answer: ${reference}`)]),
    ...(member.departures ?? []).map(({ detail, turn }) =>
      Logtree.text(`The prompt of turn ${turn}, rendered again, differs at ${detail}`)
    ),
    Logtree.text(`Total reward: ${member.reward}`),
    ...(member.advantage === undefined ? [] : [Logtree.text(`Advantage: ${member.advantage}`)])
  ])
}

const tree = (batch: Projection.Batch) => {
  const at = batch.groups[0]?.at ?? 0
  const sections = batch.rolledOut.map((group) =>
    Logtree.section(
      3,
      `Group ${group.index}: ${group.record.key}`,
      batch.members.filter((member) => member.group === group).map(memberSection)
    )
  )
  return Logtree.trace(title(batch), DateTime.formatIso(DateTime.makeUnsafe(at)), [
    Logtree.section(2, "Rollouts", sections)
  ])
}

/** The folder of an iteration's files. @see tinker-cookbook `TrainingRunStore` */
const iterationFolder = (iteration: number) => `iteration_${String(iteration).padStart(6, "0")}`

/** The lines of `timing_spans.jsonl`; times are in seconds since the run's first record. */
const timing = (records: ReadonlyArray<RunRecord.RunRecord>) => {
  const spans = RunSpans.make()
  const began = records[0]?.at ?? 0
  return records.flatMap((record) => {
    const ended = spans(record).filter(({ lane }) =>
      lane === "sampling" || lane === "training" || lane === "evaluation"
    )
    if (ended.length === 0 || !("iteration" in record)) return []
    return [{
      step: record.iteration,
      spans: ended.map(({ end, name, start }) => ({
        name,
        duration: (end - start) / 1000,
        wall_start: (start - began) / 1000,
        wall_end: (end - began) / 1000
      }))
    }]
  })
}

/** The cookbook's files that a run directory already contains. */
const kept = ["config.json", "metrics.jsonl", "checkpoints.jsonl"]

const copy = Effect.fnUntraced(
  function*(from: string, to: string) {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    if (path.resolve(from) === path.resolve(to)) return
    for (const name of kept) {
      const file = path.join(from, name)
      if (yield* fs.exists(file)) yield* Projection.writeFile(path.join(to, name), fs.stream(file))
    }
  },
  Effect.catchTag(
    "PlatformError",
    (error) => Effect.fail(new Projection.ProjectionError({ file: error.message, detail: "cannot be copied" }))
  )
)

/**
 * Writes a run directory as tinker-cookbook does. Besides `config.json`, `metrics.jsonl` and `checkpoints.jsonl`, it contains the times of
 * each iteration, and for each iteration and evaluation rollout summaries and a logtree of the conversations. The path may be the run
 * directory itself.
 *
 * @example
 * Cookbook.write(reader, "cookbook", { language: tokenizer })
 *
 * @see tinker-cookbook `serialize_rollout_summaries`, `logtree`
 */
export const write: Projection.Projection = Effect.fnUntraced(function*(run, out, { language } = {}) {
  const path = yield* Path.Path
  yield* copy(run.name, out)
  const spans = timing(yield* StoryReader.records(run))
  yield* Projection.writeLines(path.join(out, "timing_spans.jsonl"), Stream.fromIterable(spans))
  yield* Stream.runForEach(Projection.batches(run, language), (batch) =>
    Effect.gen(function*() {
      const base = path.join(out, iterationFolder(batch.iteration), baseName(batch.evaluator))
      const summaries = batch.members.map(summaryOf(batch))
      yield* Projection.writeLines(`${base}_rollout_summaries.jsonl`, Stream.fromIterable(summaries))
      yield* Projection.writeText(`${base}_logtree.json`, Projection.line(tree(batch)))
    }))
})
