/** `effect-rl show RUN`: a report on one run, a list of its rollouts, or one of them. */
import { RunStore } from "@effect-rl/core"
import { Audit, Diagnosis, Story } from "@effect-rl/core/records"
import { RunDirectory } from "@effect-rl/files"
import { Runs, Status } from "@effect-rl/view"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as FinalReport from "../report/FinalReport.ts"
import * as RunHistory from "../report/RunHistory.ts"
import * as Transcripts from "../report/Transcripts.ts"
import * as RolloutFilter from "../rollouts/RolloutFilter.ts"
import * as RolloutId from "../rollouts/RolloutId.ts"
import * as RolloutReport from "../rollouts/RolloutReport.ts"
import { commandName } from "../terminal/CommandName.ts"
import { Output } from "../terminal/Output.ts"
import * as Quantity from "../terminal/Quantity.ts"
import { RunLog } from "../terminal/RunLog.ts"
import * as Sparkline from "../terminal/Sparkline.ts"
import type { Style } from "../terminal/Style.ts"
import * as Untrusted from "../terminal/Untrusted.ts"
import * as ForecastText from "../train/ForecastText.ts"
import * as HealthText from "../train/HealthText.ts"

const flags = {
  run: Argument.String("run").pipe(Argument.withDescription("Folder of the run")),
  rollouts: Flag.Boolean("rollouts").pipe(
    Flag.withDescription("List rollouts in place of the report"),
    Flag.withDefault(false)
  ),
  rollout: Flag.String("rollout").pipe(
    Flag.withMetavar("id"),
    Flag.withDescription("Show this rollout as a whole in place of the report"),
    Flag.optional
  ),
  ...RolloutFilter.flags,
  json: Flag.Boolean("json").pipe(
    Flag.withDescription("Write one JSON record in place of text"),
    Flag.withDefault(false)
  )
}

const summary = (story: Story.Story, now: number, isWritten: boolean) => {
  const latest = Story.lastUpdated(story)
  const reward = latest?.reward
  const { dollars, judgeCalls, prefilled, sampled, seconds, trained } = story.spent
  const iterations = story.opened?.iterations ?? null
  return {
    program: story.opened?.program ?? "",
    model: Story.model(story),
    state: Status.of(story, now, isWritten),
    done: Story.done(story),
    iterations,
    reward: reward?.mean ?? null,
    health: HealthText.of(latest?.metrics ?? {}),
    tokens: { prefilled, sampled, trained },
    spent: { dollars: dollars ?? null, judgeCalls: judgeCalls ?? null, seconds: seconds ?? null },
    forecast: story.end === undefined ? latest?.forecast ?? null : null,
    failures: Object.fromEntries(story.failures),
    warnings: story.notices.filter(({ kind }) => kind === "warning").map(({ text }) => text)
  }
}

type Summary = ReturnType<typeof summary>

const amounts = (tokens: Summary["tokens"]) =>
  Object.entries(tokens).map(([kind, amount]) => `${Quantity.count(amount ?? NaN)} ${kind}`).join(", ")

/** Time, calls of judges and dollars; dollars are unknown where a model had no price. */
const spending = ({ dollars, judgeCalls, seconds }: Summary["spent"]): ReadonlyArray<string> => {
  if (seconds === null) return []
  return [[
    Quantity.duration(1000 * seconds),
    ...(judgeCalls === null || judgeCalls === 0 ? [] : [`${Quantity.count(judgeCalls)} calls of judges`]),
    dollars === null ? "dollars unknown: the run was given no prices" : Quantity.dollars(dollars)
  ].join(", ")]
}

const listed = (failures: Summary["failures"]) =>
  Object.entries(failures).map(([reason, number]) => `${number} ${Untrusted.show(reason)}`).join(", ")

/** The latest mean rewards, the newest as a number too. */
const rewardLine = ({ rewards, story }: RunHistory.RunHistory): ReadonlyArray<string> => {
  const latest = rewards.at(-1)
  if (latest === undefined) return lossLine(story)
  const curve = Sparkline.of(rewards.slice(-shownRewards).map(({ reward }) => reward))
  return [`reward      ${curve} ${Quantity.fixed(latest.reward, 3)}`]
}

const shownRewards = 60

/** The loss or the margin of a program without rewards, in its first iteration and its newest one. */
const lossLine = (story: Story.Story): ReadonlyArray<string> => {
  const measure = Diagnosis.training(story)
  if (measure === undefined) return []
  const values = measure.points.map(({ value }) => value)
  const [first = NaN, last = NaN] = [values[0], values.at(-1)]
  const curve = Sparkline.of(values.slice(-shownRewards))
  return [`${measure.name.padEnd(12)}${curve} ${Quantity.fixed(first, 3)} → ${Quantity.fixed(last, 3)}`]
}

/** Signs of health that stay outside of their range, with advice. */
const concerns = ({ concerns }: Diagnosis.Diagnosis): ReadonlyArray<string> =>
  concerns.map(({ outsideSince, sign: { advice = "", title }, values }) =>
    `${title}: ${Quantity.fixed(values.at(-1)?.value ?? NaN, 3)}${
      outsideSince === undefined ? "" : ` since iteration ${outsideSince + 1}`
    }. ${advice}`
  )

const levelStyle = (style: Style): Readonly<Record<Diagnosis.Level, (text: string) => string>> => ({
  good: style.good,
  look: style.warn,
  bad: style.bad,
  none: (text) => text
})

const verdict = ({ advice, level, sentence }: Diagnosis.Diagnosis, style: Style): ReadonlyArray<string> => [
  `verdict     ${levelStyle(style)[level](Untrusted.show(sentence))}`,
  ...(advice === undefined ? [] : [`            ${advice}.`])
]

const head = (
  run: string,
  { done, failures, forecast, health, iterations, model, program, spent, state, tokens, warnings }: Summary,
  history: RunHistory.RunHistory,
  diagnosis: Diagnosis.Diagnosis,
  style: Style
) => [
  `${style.bold(Untrusted.show(run))}  ${Untrusted.show(program)}, ${Untrusted.show(model)}`,
  ...verdict(diagnosis, style),
  `state       ${Untrusted.show(state)}`,
  `iterations  ${iterations === null ? done : `${done} of ${iterations}`}`,
  ...rewardLine(history),
  ...(health === "" ? [] : [`health      ${health}`]),
  ...concerns(diagnosis).map((text) => style.warn(`look at     ${text}`)),
  `tokens      ${amounts(tokens)}`,
  ...spending(spent).map((text) => `spent       ${text}`),
  ...(forecast === null ? [] : [`forecast    about ${ForecastText.of(forecast)} in all`]),
  `failures    ${listed(failures) || "none"}`,
  ...warnings.map((text) => style.warn(`warning     ${Untrusted.show(text)}`))
]

/** Groups whose transcripts are audited in about a second; of a larger run, `audit` tells. */
const mostAudited = 2000

const diagnose = Effect.fnUntraced(function*(
  reader: RunStore.RunReader,
  { story }: RunHistory.RunHistory,
  isWritten: boolean
) {
  const groups = story.records.filter(({ _tag }) => _tag === "GroupRolledOut").length
  if (groups > mostAudited) return Diagnosis.of(story, { isWritten })
  return Diagnosis.of(story, { isWritten, findings: yield* Stream.runCollect(Audit.run(reader)) })
})

const report = Effect.fnUntraced(function*(reader: RunStore.RunReader) {
  const output = yield* Output
  const run = reader.name
  const isWritten = yield* RunDirectory.isHeld(run)
  const history = yield* RunHistory.read(reader)
  const told = summary(history.story, yield* Clock.currentTimeMillis, isWritten)
  const transcripts = yield* Transcripts.read(reader, history)
  const diagnosis = yield* diagnose(reader, history, isWritten)
  yield* output.lines([
    ...head(run, told, history, diagnosis, output.style),
    ...FinalReport.lines(history, output.style)
  ])
  if (transcripts.length > 0) yield* output.lines(["", ...Transcripts.lines(transcripts, output.style)])
  const { doubts, kind, level, sentence } = diagnosis
  yield* output.record({
    type: "run",
    run,
    verdict: { kind, level, sentence, doubts },
    ...told,
    ...FinalReport.record(history),
    transcripts
  })
})

interface Asked extends RolloutFilter.Filter {
  readonly run: string
  readonly rollouts: boolean
  readonly rollout: Option.Option<string>
}

/** Opens a run. For a folder of runs, the error names one of them and the command that lists them. */
const openRun = Effect.fnUntraced(function*(folder: string) {
  return yield* Effect.catchTag(
    RunDirectory.open(folder),
    "RunError",
    (error) =>
      Effect.gen(function*() {
        const [first] = yield* Runs.find([folder])
        if (first === undefined) return yield* error
        const detail = `this is a folder of runs, expected one of them, such as ${first}. ` +
          `To list them: ${yield* commandName} runs ${folder}`
        return yield* new RunStore.RunError({ run: folder, detail })
      })
  )
})

const answer = Effect.fnUntraced(function*({ rollout, rollouts, run, ...filter }: Asked) {
  const id = Option.isSome(rollout) ? yield* RolloutId.parse(rollout.value) : undefined
  const reader = yield* openRun(run)
  if (id !== undefined) return yield* RolloutReport.one(reader, id)
  return rollouts ? yield* RolloutReport.list(reader, filter) : yield* report(reader)
})

export const show = Command.make(
  "show",
  flags,
  ({ json, ...asked }) => Effect.provide(answer(asked), Layer.provide(Output.layer({ json }), RunLog.layerNone))
).pipe(Command.withExamples([
  { command: "effect-rl show runs/arithmetic-0", description: "The report of a run" },
  {
    command: "effect-rl show runs/arithmetic-0 --rollouts --iteration 3 --max-reward 0",
    description: "What went wrong in the third iteration"
  }
]))
