/** Conversations with rewards and advantages as JSON lines, in the shape of OpenAI's chat format. */
import * as Conversation from "../run/Conversation.ts"
import type * as Rollouts from "../run/Rollouts.ts"
import * as Projection from "./Projection.ts"

const finite = (value: number | undefined) => value !== undefined && Number.isFinite(value) ? value : null

const lineOf =
  ({ evaluator, iteration }: Rollouts.Batch, decode: Conversation.Decode | undefined) =>
  ({ advantage, group, member, reward, trajectory }: Rollouts.Member) => ({
    messages: Conversation.messages(Conversation.turns(trajectory, decode)),
    reward: finite(reward),
    advantage: finite(advantage),
    iteration,
    evaluator: evaluator ?? null,
    group: group.record.key,
    member,
    tags: group.record.tags
  })

/**
 * Writes one line for each member that finished; `advantage` is null where no update used it.
 *
 * @example
 * ChatJsonLines.write(reader, "chat.jsonl", { decode: tokenizer.decode })
 */
export const write: Projection.Projection = (run, out, { decode } = {}) =>
  Projection.writeLines(out, Projection.eachMember(run, (batch) => lineOf(batch, decode)))
