/**
 * Names of spans and attributes. They follow OpenTelemetry's conventions for generative AI, and the proposed `rl.*` names for reinforcement
 * learning. Both conventions are in development; only this module depends on them.
 *
 * @see https://github.com/open-telemetry/semantic-conventions-genai
 */
import type { RunRecord } from "@effect-rl/core"
import type { OpenAi } from "@effect-rl/core/renderers"

export type Attributes = Readonly<Record<string, string | number | boolean | ReadonlyArray<string>>>

export const iteration = "rl.loop"
export const sampling = "rl.sample"
export const training = "rl.train"
export const evaluation = "rl.evaluate"
export const group = "rl.group"
export const reward = "rl.reward"
export const member = "invoke_agent"
export const chat = "chat"
export const tool = "execute_tool"

const finite = (values: Readonly<Record<string, number | undefined>>): Attributes =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      value !== undefined && Number.isFinite(value) ? [[name, value]] : []
    )
  )

const rewards = (reward: RunRecord.Reward | undefined) =>
  finite({ "rl.reward.mean": reward?.mean, "rl.reward.standard_error": reward?.standardError })

const tokens = ({ spent }: Pick<RunRecord.Updated, "spent">) => ({
  "rl.tokens.prefilled": spent.prefilled,
  "rl.tokens.sampled": spent.sampled,
  "rl.tokens.trained": spent.trained
})

export const iterationAttributes = (updated: RunRecord.Updated): Attributes => ({
  "rl.iteration": updated.iteration,
  ...rewards(updated.reward),
  ...tokens(updated)
})

export const updateAttributes = ({ iteration, updates }: RunRecord.Updated): Attributes => ({
  "rl.iteration": iteration,
  "rl.optimizer_steps": updates.length,
  ...finite({ "rl.learning_rate": updates.at(-1)?.learningRate }),
  "rl.loss": [...new Set(updates.flatMap(({ passes }) => passes.map(({ loss }) => loss)))]
})

export const evaluationAttributes = (
  evaluated: Pick<RunRecord.Evaluated, "evaluator" | "iteration" | "score" | "reward">
): Attributes => ({
  "rl.iteration": evaluated.iteration,
  "gen_ai.evaluation.name": evaluated.evaluator,
  ...finite({ "gen_ai.evaluation.score.value": evaluated.score?.value ?? evaluated.reward?.mean }),
  ...rewards(evaluated.reward)
})

export const groupAttributes = (record: RunRecord.GroupRolledOut): Attributes => ({
  "rl.iteration": record.iteration,
  "rl.policy.version": record.step,
  "rl.group.key": record.key,
  "rl.group.size": record.members.length,
  "rl.group.outcome": record.outcome,
  "rl.group.retries": record.retries,
  "rl.tags": record.tags,
  ...(record.evaluator === undefined ? {} : { "gen_ai.evaluation.name": record.evaluator })
})

/** The run's model; empty if the program's identity has none. */
export const model = ({ identity }: RunRecord.Opened): string =>
  typeof identity["model"] === "string" ? identity["model"] : ""

/** Attributes of the whole run, for the resource of every span. */
export const runAttributes = (run: string, { identity, program }: RunRecord.Opened): Attributes => ({
  "rl.run.id": run,
  "rl.program": program,
  ...(typeof identity["loss"] === "string" ? { "rl.algorithm": identity["loss"] } : {}),
  ...(typeof identity["model"] === "string" ? { "gen_ai.request.model": identity["model"] } : {})
})

export const memberAttributes = (
  member: number,
  reward: number,
  stopReason: string | undefined,
  tools: ReadonlyArray<OpenAi.Tool>
): Attributes => ({
  "gen_ai.operation.name": "invoke_agent",
  ...(tools.length === 0
    ? {}
    : { "gen_ai.tool.definitions": JSON.stringify(tools.map(({ function: tool, type }) => ({ type, ...tool }))) }),
  "rl.member": member,
  ...finite({ "rl.reward.value": reward }),
  ...(stopReason === undefined ? {} : { "rl.stop_reason": stopReason })
})

export const chatAttributes = (turn: {
  readonly turn: number
  readonly model: string
  readonly read: number
  readonly written: number
  readonly stopReason: string
  readonly reward: number
  readonly samplerStep: number
}): Attributes => ({
  "gen_ai.operation.name": "chat",
  "gen_ai.request.model": turn.model,
  "gen_ai.usage.input_tokens": turn.read,
  "gen_ai.usage.output_tokens": turn.written,
  "gen_ai.response.finish_reasons": [turn.stopReason],
  "rl.turn": turn.turn,
  "rl.policy.version": turn.samplerStep,
  ...finite({ "rl.reward.value": turn.reward })
})

export const toolAttributes = (name: string, call: string, result: string): Attributes => ({
  "gen_ai.operation.name": "execute_tool",
  "gen_ai.tool.name": name,
  "gen_ai.tool.call.arguments": call,
  "gen_ai.tool.call.result": result
})

export const rewardAttributes = (reward: number): Attributes => finite({ "rl.reward.value": reward })
