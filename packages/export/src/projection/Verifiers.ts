/** Traces of verifiers and prime-rl, as JSON lines. */
import type { ModelInput } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Conversation from "../run/Conversation.ts"
import * as Period from "../run/Period.ts"
import * as Rollouts from "../run/Rollouts.ts"
import * as Projection from "./Projection.ts"

/** The version of verifiers' `Trace` that is written, and a release that reads it. */
const traceVersion = 1
const verifiersVersion = "0.4.0"

const tokensOf = ({ chunks }: ModelInput.ModelInput): ReadonlyArray<number> =>
  chunks.flatMap((chunk) => chunk._tag === "Image" ? [] : Array.from(chunk.tokens))

const finite = (value: number) => Number.isFinite(value) ? value : 0

/** The prompt's part that follows on what is known; undefined where it begins anew, as after a fork. */
const following = (prompt: ReadonlyArray<number>, known: ReadonlyArray<number>) =>
  known.every((token, index) => prompt[index] === token) ? prompt.slice(known.length) : undefined

/** Nodes add tokens to those of their parents: a path from a root to a leaf is what the policy read and wrote. */
const nodesOf = (
  { advantage, trajectory }: Rollouts.Member,
  said: ReadonlyArray<Conversation.Turn>,
  timestamp: number
) => {
  let known: ReadonlyArray<number> = []
  return trajectory.transitions.flatMap(({ action, observation, trainable }, turn) => {
    const prompt = tokensOf(observation)
    const more = following(prompt, known)
    const shown = more ?? prompt
    known = [...prompt, ...action.tokens]
    const tokens = Array.from(action.tokens)
    return [
      {
        parent: more === undefined || turn === 0 ? null : 2 * turn - 1,
        message: { role: "user", content: said[turn]?.prompt ?? "" },
        sampled: false,
        timestamp,
        token_ids: shown,
        mask: shown.map(() => false)
      },
      {
        parent: 2 * turn,
        message: { role: "assistant", content: said[turn]?.response ?? "" },
        sampled: true,
        timestamp,
        token_ids: tokens,
        mask: tokens.map(() => true),
        logprobs: Array.from(action.logprobs, finite),
        ...(advantage === undefined || !trainable ? {} : { advantages: tokens.map(() => advantage) })
      }
    ]
  })
}

const seconds = ({ end, start }: Period.Period) => ({ start: start / 1000, end: end / 1000 })

const callsOf = (
  { group: { record }, trajectory }: Rollouts.Member,
  model: string,
  whole: Period.Period
) => {
  const periods = Period.turns(record, trajectory)
  return trajectory.transitions.map(({ action, observation }, turn) => ({
    node: 2 * turn + 1,
    model,
    finish_reason: action.stopReason,
    usage: { prompt_tokens: observation.length, completion_tokens: action.tokens.length },
    time: seconds(periods?.[turn]?.sampling ?? whole)
  }))
}

const metricsOf = ({ trajectory }: Rollouts.Member) =>
  Object.fromEntries(
    trajectory.transitions.flatMap(({ metrics }) =>
      Object.entries(metrics).map((
        [name, metric]
      ) => [name, metric.kind === "rate" ? Number(metric.hit) : finite(metric.value)])
    )
  )

const traceOf =
  (batch: Rollouts.Batch, model: string, decode: Conversation.Decode | undefined) => (member: Rollouts.Member) => {
    const { group: { record }, reward, trajectory } = member
    const whole = Period.member(record, trajectory)
    const said = Conversation.turns(trajectory, decode)
    const stop = Option.getOrNull(trajectory.stopReason)
    return {
      version: traceVersion,
      id: [batch.evaluator ?? "train", batch.iteration, record.key, member.member].join("/"),
      verifiers: { version: verifiersVersion },
      task: { type: "effect-rl", data: { idx: member.group.index, prompt: said[0]?.prompt ?? "" }, key: record.key },
      agent: { config: { model }, name: "agent", trainable: batch.evaluator === undefined },
      nodes: nodesOf(member, said, record.at / 1000),
      calls: callsOf(member, model, whole),
      rewards: { reward: { score: finite(reward), weight: 1 } },
      metrics: metricsOf(member),
      info: {
        iteration: batch.iteration,
        evaluator: batch.evaluator ?? null,
        tags: record.tags,
        member: member.member
      },
      is_completed: true,
      ok: true,
      stop_condition: stop,
      is_timeout: stop === "rollout_timeout",
      timing: { start: whole.start / 1000, agent: seconds(whole) }
    }
  }

/**
 * Writes one trace for each member that finished: its message graph with exact tokens, log-probabilities and advantages.
 *
 * @example
 * Verifiers.write(reader, "traces.jsonl", { decode: tokenizer.decode })
 */
export const write: Projection.Projection = Effect.fnUntraced(function*(run, out, { decode } = {}) {
  const model = Rollouts.model(yield* Stream.runCollect(run.read))
  yield* Projection.writeLines(out, Projection.eachMember(run, (batch) => traceOf(batch, model, decode)))
})
