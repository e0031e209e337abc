/**
 * A group as spans: members, in them turns, in those tool calls, and the reward. Records know when a group began and ended, so
 * spans inside of it carry the group's times.
 */
import { GroupPayload, type RunRecord, type RunStore, type Trajectory } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Conversation from "./Conversation.ts"
import * as Names from "./Names.ts"
import * as Rollouts from "./Rollouts.ts"
import * as RunSpans from "./RunSpans.ts"

/** The name of a tool in a call such as `calculator({"expression":"1+1"})`. */
const toolName = (call: string) => call.split("(", 1)[0] ?? call

const toolSpans = (turn: RunSpans.Span, tools: ReadonlyArray<Conversation.ToolUse>): ReadonlyArray<RunSpans.Span> =>
  tools.map(({ call, result }, index) => ({
    ...turn,
    id: `${turn.id} tool ${index}`,
    parent: turn.id,
    name: `${Names.tool} ${toolName(call)}`,
    attributes: Names.toolAttributes(toolName(call), call, result)
  }))

const turnSpans = (
  member: RunSpans.Span,
  { transitions }: Trajectory.Trajectory,
  said: ReadonlyArray<Conversation.Turn>,
  model: string
): ReadonlyArray<RunSpans.Span> =>
  transitions.flatMap(({ action, observation, reward }, turn) => {
    const { length: read } = observation
    const { stopReason, tokens } = action
    const span: RunSpans.Span = {
      ...member,
      id: `${member.id} turn ${turn}`,
      parent: member.id,
      name: `${Names.chat} ${model}`,
      attributes: Names.chatAttributes({ turn, model, read, written: tokens.length, stopReason, reward })
    }
    return [span, ...toolSpans(span, said[turn]?.tools ?? [])]
  })

const memberSpans =
  (group: RunSpans.Span, model: string) =>
  ({ member, reward, trajectory }: Rollouts.Member): ReadonlyArray<RunSpans.Span> => {
    const { error: _, ...base } = group
    const stopReason = Option.getOrUndefined(trajectory.stopReason)
    const span: RunSpans.Span = {
      ...base,
      id: `${group.id} member ${member}`,
      parent: group.id,
      name: Names.member,
      attributes: Names.memberAttributes(member, reward, stopReason)
    }
    const graded: RunSpans.Span = {
      ...base,
      id: `${span.id} reward`,
      parent: span.id,
      name: Names.reward,
      start: group.end,
      attributes: Names.rewardAttributes(reward)
    }
    return [span, ...turnSpans(span, trajectory, Conversation.turns(trajectory), model), graded]
  }

/** The spans inside of a group. */
export const inside = Effect.fnUntraced(function*(
  run: RunStore.RunReader,
  record: RunRecord.GroupRolledOut,
  model: string
) {
  if (record.payload === undefined) return []
  const result = yield* Effect.flatMap(run.payload(record.payload), GroupPayload.decode)
  const group: Rollouts.RecordedGroup = { record, result, index: 0, advantages: [] }
  return Rollouts.members(group).flatMap(memberSpans(RunSpans.group(record), model))
})
