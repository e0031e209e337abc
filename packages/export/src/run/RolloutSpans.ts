/** A group as spans: its members, their turns, the turns' tool calls, and the reward. */
import type { RunRecord, RunStore } from "@effect-rl/core"
import type { Trajectory } from "@effect-rl/core/environments"
import { Conversation, Rollouts } from "@effect-rl/core/records"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Names from "./Names.ts"
import * as Period from "./Period.ts"
import * as RunSpans from "./RunSpans.ts"

const toolSpans = (
  turn: RunSpans.Span,
  period: Period.Period | undefined,
  tools: ReadonlyArray<Conversation.ToolUse>
): ReadonlyArray<RunSpans.Span> =>
  tools.map(({ arguments: given, name, result = "" }, index) => ({
    ...turn,
    ...period,
    id: `${turn.id} tool ${index}`,
    parent: turn.id,
    name: `${Names.tool} ${name}`,
    attributes: Names.toolAttributes(name, `${name}(${given})`, result)
  }))

/** The weights that sampled a group, unless a turn records newer weights. */
interface Weights {
  readonly model: string
  readonly step: number
}

const turnSpans = (
  member: RunSpans.Span,
  trajectory: Trajectory.Trajectory,
  periods: ReadonlyArray<Period.Turn> | undefined,
  said: ReadonlyArray<Conversation.Turn>,
  { model, step }: Weights
): ReadonlyArray<RunSpans.Span> =>
  trajectory.transitions.flatMap(({ action, observation, reward }, turn) => {
    const { length: read } = observation
    const { samplerStep = step, stopReason, tokens } = action
    const period = periods?.[turn]
    const span: RunSpans.Span = {
      ...member,
      ...period?.sampling,
      id: `${member.id} turn ${turn}`,
      parent: member.id,
      name: `${Names.chat} ${model}`,
      attributes: Names.chatAttributes({
        turn,
        model,
        read,
        written: tokens.length,
        stopReason,
        reward,
        samplerStep
      })
    }
    return [span, ...toolSpans(span, period?.environment, said[turn]?.tools ?? [])]
  })

const memberSpans =
  (group: RunSpans.Span, model: string) =>
  ({ group: { record, result }, member, reward, trajectory }: Rollouts.Member): ReadonlyArray<RunSpans.Span> => {
    const { error: _, ...base } = group
    const stopReason = Option.getOrUndefined(trajectory.stopReason)
    const said = Conversation.make(trajectory, [])
    const span: RunSpans.Span = {
      ...base,
      ...Period.member(record, trajectory),
      lane: "member",
      member,
      id: `${group.id} member ${member}`,
      parent: group.id,
      name: Names.member,
      attributes: Names.memberAttributes(member, reward, stopReason, Conversation.toOpenAiTools(said))
    }
    const graded: RunSpans.Span = {
      ...span,
      ...Period.grading(record, result),
      id: `${span.id} reward`,
      parent: span.id,
      name: Names.reward,
      attributes: Names.rewardAttributes(reward)
    }
    return [
      span,
      ...turnSpans(span, trajectory, Period.turns(record, trajectory), said, { model, step: record.step }),
      graded
    ]
  }

/** The spans inside a group; empty if the group's record has no transcripts. */
export const inside = Effect.fnUntraced(function*(
  run: RunStore.RunReader,
  record: RunRecord.GroupRolledOut,
  model: string
) {
  const result = yield* Rollouts.result(run, record)
  if (result === undefined) return []
  const group: Rollouts.RecordedGroup = { record, result, index: 0, advantages: [] }
  return Rollouts.members(group).flatMap(memberSpans(RunSpans.group(record), model))
})

/**
 * A group's span, extended to start with its first inner span, because the group's record is written a little after the group ended. Other
 * spans are unchanged.
 */
export const around = (span: RunSpans.Span, inside: ReadonlyArray<RunSpans.Span>): RunSpans.Span =>
  span.lane === "group"
    ? { ...span, start: inside.reduce((first, { start }) => Math.min(first, start), span.start) }
    : span
