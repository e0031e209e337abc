/** Shows rollouts of a recorded run in the terminal: a list, or one rollout in full. */
import { InvalidOption, Message, type RunStore } from "@effect-rl/core"
import type { Branch, Trajectory } from "@effect-rl/core/environments"
import { Conversation, Departure, Quantity, type Recorded, Rollouts, Story, StoryReader } from "@effect-rl/core/records"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Columns from "../terminal/Columns.ts"
import { commandName } from "../terminal/CommandName.ts"
import { Output } from "../terminal/Output.ts"
import type { Style } from "../terminal/Style.ts"
import * as Untrusted from "../terminal/Untrusted.ts"
import * as RolloutFilter from "./RolloutFilter.ts"
import * as RolloutId from "./RolloutId.ts"
import * as RunTokenizer from "./RunTokenizer.ts"

const headings = ["rollout", "iteration", "group", "member", "reward", "advantage", "turns", "tokens", "ended"]

const cells = (line: RolloutFilter.Line) => [
  line.id,
  String(line.iteration),
  Untrusted.show(line.group),
  String(line.member),
  Quantity.fixed(line.reward, 3),
  Quantity.fixed(line.advantage ?? NaN, 3),
  String(line.turns),
  String(line.tokens),
  line.stopReason ?? ""
]

/** Lists the rollouts that match the filter. */
export const list = Effect.fnUntraced(function*(run: RunStore.RunReader, filter: RolloutFilter.Filter) {
  const output = yield* Output
  const { found, lines } = RolloutFilter.select(yield* StoryReader.read(run), filter)
  const last = lines.at(-1)
  if (last === undefined) yield* output.lines(["no rollout matches the filters"])
  else {
    yield* output.lines(Columns.aligned([headings, ...lines.map(cells)]))
    if (found > lines.length) yield* output.lines([`the newest ${lines.length} of ${found}; --limit shows more`])
    yield* output.lines([`to see one of them: ${yield* commandName} show ${run.name} --rollout ${last.id}`])
  }
  yield* Effect.forEach(lines, (line) => output.record({ type: "rollout", ...line }), { discard: true })
})

const block = (text: string) => Untrusted.showLines(text.trimEnd()).split("\n").map((line) => `  ${line}`)

const metricsText = (metrics: Trajectory.Transition["metrics"]) =>
  Object.entries(metrics).map(([name, metric]) => `${name} ${metric.kind === "rate" ? metric.hit : metric.value}`).join(
    ", "
  )

const timesText = (times: Trajectory.TurnTimes | undefined) =>
  times === undefined
    ? ""
    : `, policy ${Quantity.duration(times.sampling)}, environment ${Quantity.duration(times.environment)}`

const branchText = ({ after, reason }: Branch.Branch) =>
  `the prompt ${after < 0 ? "begins from the start" : `continues after turn ${after}`} (${reason})`

const messageLines = (title: string, text: string, style: Style) =>
  text === "" ? [] : [style.dim(title), ...block(text)]

const toolLines = ({ arguments: given, name, result = "" }: Conversation.ToolUse, style: Style) => [
  style.dim(`tool ${Untrusted.show(`${name}(${given})`)}`),
  ...block(result)
]

interface Shown {
  readonly style: Style
  /** Where the turn's prompt, rendered again, differs from the recorded prompt; undefined if they are equal. */
  readonly departure: Departure.Departure | undefined
}

const turnLines = (
  transition: Trajectory.Transition,
  { said, shown, tools }: Conversation.Turn,
  index: number,
  { departure, style }: Shown
) => {
  const { action, branch, metrics, reward, times } = transition
  // Tool results are shown below their calls.
  const before = shown.filter(({ role }) => role !== "tool")
  return [
    "",
    style.bold(`turn ${index}`) +
    `  reward ${Quantity.fixed(reward, 3)}, ${action.tokens.length} tokens, ${action.stopReason}${timesText(times)}`,
    ...(branch === undefined ? [] : [style.dim(branchText(branch))]),
    ...(departure === undefined
      ? []
      : [style.warn(`the prompt, rendered again from the messages, differs at ${Untrusted.show(departure.detail)}`)]),
    ...before.flatMap((message) => messageLines(Untrusted.show(message.role), Conversation.text(message), style)),
    ...messageLines("reasoning", Message.thinking(said), style),
    ...messageLines("response", Conversation.text(said), style),
    ...tools.flatMap((tool) => toolLines(tool, style)),
    ...Conversation.others(transition).flatMap(([name, value]) => block(`${name}: ${value}`)),
    ...(Object.keys(metrics).length === 0 ? [] : [style.dim(Untrusted.show(metricsText(metrics)))])
  ]
}

const groupOf = Effect.fnUntraced(function*(run: RunStore.RunReader, { sequence }: RolloutId.RolloutId) {
  const record = Story.group(yield* StoryReader.read(run), sequence)
  const result = record === undefined ? undefined : yield* Rollouts.result(run, record)
  return record === undefined || result === undefined ? undefined : { record, result }
})

const noRollout = (run: RunStore.RunReader, id: RolloutId.RolloutId) =>
  new InvalidOption.InvalidOption({
    field: "--rollout",
    found: `${RolloutId.format(id)}, which ${run.name} does not have`,
    expected: "one that --rollouts lists"
  })

const head = (record: Recorded.Group, { member }: RolloutId.RolloutId) =>
  `${Untrusted.show(record.key)}  member ${member}, ${
    record.evaluator === undefined
      ? `iteration ${record.iteration + 1}`
      : `${Untrusted.show(record.evaluator)} after ${Quantity.plural(record.iteration, "iteration")}`
  }`

/** Shows one rollout in full. */
export const one = Effect.fnUntraced(function*(run: RunStore.RunReader, id: RolloutId.RolloutId) {
  const output = yield* Output
  const found = yield* groupOf(run, id)
  const trajectory = found === undefined ? undefined : RolloutFilter.memberOf(found.result, id.member)
  if (found === undefined || trajectory === undefined) return yield* noRollout(run, id)
  const { record } = found
  const language = yield* RunTokenizer.language(run)
  const turns = yield* Conversation.read(trajectory, language)
  const departures = yield* Departure.known(trajectory, turns, language?.renderer)
  const tools = Conversation.toOpenAiTools(turns)
  const reward = record.rewards[id.member] ?? NaN
  const stopReason = Option.getOrNull(trajectory.stopReason)
  yield* output.lines([
    output.style.bold(head(record, id)),
    `reward ${Quantity.fixed(reward, 3)}, ended by ${stopReason ?? "its environment"}`,
    ...(trajectory.task?.reference === undefined ? [] : [`reference ${Untrusted.show(trajectory.task.reference)}`]),
    ...(tools.length === 0
      ? []
      : [`tools ${Untrusted.show(tools.map(({ function: { name } }) => name).join(", "))}`]),
    ...trajectory.transitions.flatMap((transition, index) => {
      const turn = turns[index]
      return turn === undefined ? [] : turnLines(transition, turn, index, {
        style: output.style,
        departure: departures?.find((departure) => departure.turn === index)
      })
    })
  ])
  yield* output.record({
    type: "rollout",
    id: RolloutId.format(id),
    group: record.key,
    iteration: RolloutFilter.numberOf(record),
    reward,
    stopReason,
    messages: Conversation.toOpenAi(turns),
    ...(tools.length > 0 && { tools }),
    departures
  })
})
