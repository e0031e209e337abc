/** verifiers and prime-rl traces, as JSON lines. */
import { Branch, Key, type Trajectory } from "@effect-rl/core/environments"
import { Conversation, NewTokens, type Rollouts } from "@effect-rl/core/records"
import type { OpenAi } from "@effect-rl/core/renderers"
import * as Option from "effect/Option"
import * as Period from "../run/Period.ts"
import * as Projection from "./Projection.ts"

/** The version of verifiers' `Trace` format that is written. */
const traceVersion = 1
const verifiersVersion = "0.4.0"

const finite = (value: number) => Number.isFinite(value) ? value : 0

const noText: OpenAi.ChatMessage = { role: "user", content: "" }

/** For each turn, the index of its sampled node. Each turn has one node per new message, or one empty node, before the sampled node. */
const sampledNodes = (turns: ReadonlyArray<Conversation.Turn>): ReadonlyArray<number> => {
  let nodes = -1
  return turns.map(({ shown }) => nodes += Math.max(1, shown.length) + 1)
}

/** For each turn, the new prompt tokens, and the index of the turn that it continues; −1 if it continues none. */
const promptsOf = ({ transitions }: Trajectory.Trajectory) => {
  const turns = transitions.map(({ action: { tokens }, branch, observation }) => ({
    prompt: Conversation.promptTokens(observation),
    tokens,
    branch
  }))
  return turns.map(({ branch, prompt }, index) => {
    const from = NewTokens.from(turns, index)
    return {
      before: from > 0 ? Branch.previous(index, branch) : -1,
      tokens: prompt.slice(from).filter((token) => token !== null)
    }
  })
}

/** The roles of verifiers' messages that are kept. All other roles, such as policy names in environments, become `assistant`. */
const roles = new Set(["system", "user", "tool"])

/** Converts a message. A tool call has its name and arguments beside its id. @see verifiers `v1/types.py` */
const messageOf = ({ role, tool_calls: calls, ...message }: OpenAi.ChatMessage) => ({
  role: roles.has(role) ? role : "assistant",
  ...message,
  ...(calls === undefined || calls === null
    ? {}
    : { tool_calls: calls.map(({ function: { arguments: given, name }, id }) => ({ id, name, arguments: given })) })
})

/** The nodes of a trace. Each node adds tokens to its parent's: a path from the root to a leaf is what the policy read and wrote. */
const nodesOf = ({ advantage, trajectory, turns }: Rollouts.Told, timestamp: number) => {
  const told = Conversation.toOpenAiTurns(turns)
  const prompts = promptsOf(trajectory)
  const sampled = sampledNodes(turns)
  return trajectory.transitions.flatMap(({ action, trainable }, turn) => {
    const { before = -1, tokens: added = [] } = prompts[turn] ?? {}
    const { said: [response = noText] = [], shown: recorded = [] } = told[turn] ?? {}
    const shown = recorded.length === 0 ? [noText] : recorded
    const last = sampled[turn] ?? 0
    const first = last - shown.length
    const tokens = Array.from(action.tokens)
    return [
      ...shown.map((message, index) => {
        // The number of tokens per message is not recorded.
        const own = index + 1 === shown.length ? added : []
        const parent = index > 0 ? first + index - 1 : sampled[before] ?? null
        return {
          parent,
          message: messageOf(message),
          sampled: false,
          timestamp,
          token_ids: own,
          mask: own.map(() => false)
        }
      }),
      {
        parent: last - 1,
        message: messageOf(response),
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
  { group: { record }, trajectory, turns }: Rollouts.Told,
  model: string,
  whole: Period.Period
) => {
  const nodes = sampledNodes(turns)
  const periods = Period.turns(record, trajectory)
  return trajectory.transitions.map(({ action, observation }, turn) => ({
    node: nodes[turn] ?? 0,
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

const traceOf = (batch: Projection.Batch) => (member: Rollouts.Told) => {
  const { departures, group: { record }, reward, trajectory, turns } = member
  const { model } = batch
  const whole = Period.member(record, trajectory)
  const stop = Option.getOrNull(trajectory.stopReason)
  return {
    version: traceVersion,
    id: `${Key.ofGroup(record)}/m${member.member}`,
    verifiers: { version: verifiersVersion },
    task: {
      type: "effect-rl",
      data: { idx: member.group.index, prompt: turns[0] === undefined ? "" : Conversation.shownText(turns[0]) },
      key: record.key
    },
    agent: { config: { model }, name: "agent", trainable: batch.evaluator === undefined },
    tools: Conversation.toOpenAiTools(turns).map(({ function: tool, type }) => ({ type, ...tool })),
    nodes: nodesOf(member, record.at / 1000),
    calls: callsOf(member, model, whole),
    rewards: { reward: { score: finite(reward), weight: 1 } },
    metrics: metricsOf(member),
    info: {
      iteration: batch.iteration,
      evaluator: batch.evaluator ?? null,
      tags: record.tags,
      member: member.member,
      sampler_step: record.step,
      turn_sampler_steps: Projection.samplerSteps(member),
      departures
    },
    is_completed: true,
    ok: true,
    stop_condition: stop,
    is_timeout: stop === "rollout_timeout",
    timing: { start: whole.start / 1000, agent: seconds(whole) }
  }
}

/**
 * Writes one trace per member that finished: its message graph with exact tokens, log-probabilities and advantages.
 *
 * @example
 * Verifiers.write(reader, "traces.jsonl", { language: tokenizer })
 */
export const write: Projection.Projection = (run, out, { language } = {}) =>
  Projection.writeLines(out, Projection.eachMember(run, language, traceOf))
