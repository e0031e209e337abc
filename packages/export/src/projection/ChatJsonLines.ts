/** Conversations with rewards and advantages as JSON lines, in OpenAI's chat format. */
import { Conversation, type Rollouts } from "@effect-rl/core/records"
import * as Projection from "./Projection.ts"

const finite = (value: number | undefined) => value !== undefined && Number.isFinite(value) ? value : null

/** The tools of a conversation, in the field that fine-tuning files use. */
const toolsOf = ({ turns }: Rollouts.Told) => {
  const tools = Conversation.toOpenAiTools(turns)
  return tools.length === 0 ? {} : { tools }
}

const lineOf = ({ evaluator, iteration }: Projection.Batch) => (member: Rollouts.Told) => ({
  messages: Conversation.toOpenAi(member.turns),
  ...toolsOf(member),
  reward: finite(member.reward),
  advantage: finite(member.advantage),
  iteration,
  evaluator: evaluator ?? null,
  group: member.group.record.key,
  member: member.member,
  tags: member.group.record.tags,
  sampler_step: member.group.record.step,
  turn_sampler_steps: Projection.samplerSteps(member),
  departures: member.departures
})

/**
 * Writes one line per member that finished. `advantage` is null if no update used the member. `departures` lists the turns whose prompts,
 * rendered again from the messages, differ from the recorded tokens; it is null if the run's renderer is unknown.
 *
 * @example
 * ChatJsonLines.write(reader, "chat.jsonl", { language: tokenizer })
 */
export const write: Projection.Projection = (run, out, { language } = {}) =>
  Projection.writeLines(out, Projection.eachMember(run, language, lineOf))
