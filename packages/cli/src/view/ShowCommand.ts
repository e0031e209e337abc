/** `effect-rl show RUN`: reports on one run, lists its rollouts, or shows one rollout. */
import { RunStore } from "@effect-rl/core"
import { Prompts } from "@effect-rl/core/program"
import { Audit, CreditText, Diagnosis, Quantity, Story } from "@effect-rl/core/records"
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
import { RunLog } from "../terminal/RunLog.ts"
import * as Sparkline from "../terminal/Sparkline.ts"
import type { Style } from "../terminal/Style.ts"
import * as Untrusted from "../terminal/Untrusted.ts"
import * as Wrapped from "../terminal/Wrapped.ts"
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

/** Time, judge calls and dollars; dollars are unknown if a model had no price. */
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

/** The latest mean rewards as a curve, and the newest as a number. */
const rewardLine = ({ rewards, story }: RunHistory.RunHistory): ReadonlyArray<string> => {
  const latest = rewards.at(-1)
  if (latest === undefined) return lossLine(story)
  const curve = Sparkline.of(rewards.slice(-shownRewards).map(({ reward }) => reward))
  return [...lossLine(story), `reward      ${curve} ${Quantity.fixed(latest.reward, 3)}`]
}

const shownRewards = 60

/** The first and newest loss, margin or divergence, for programs that are not trained on rewards. */
const lossLine = (story: Story.Story): ReadonlyArray<string> => {
  const measure = Diagnosis.training(story)
  if (measure === undefined || measure.name === "reward") return []
  const values = measure.points.map(({ value }) => value)
  const [first = NaN, last = NaN] = [values[0], values.at(-1)]
  const curve = Sparkline.of(values.slice(-shownRewards))
  return [`${measure.name.padEnd(12)}${curve} ${Quantity.fixed(first, 3)} → ${Quantity.fixed(last, 3)}`]
}

/** Health signs that remain outside of their range, with advice. */
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

/** A setting's value as text; strings have no quotes. */
const settingText = (value: unknown) => Untrusted.show(typeof value === "string" ? value : JSON.stringify(value))

/** The command that started the newest segment, and its non-default settings. */
const launched = (story: Story.Story): ReadonlyArray<string> => {
  const launch = Story.launch(story)
  if (launch === undefined) return []
  const changed = launch.settings.filter(Story.isChanged).map(({ default: usual, name, value }) =>
    `${name} ${settingText(value)}${usual === undefined ? "" : ` (default ${settingText(usual)})`}`
  )
  return [
    `command     ${Untrusted.show(launch.command)}`,
    ...Wrapped.lines("settings    ", "            ", changed.length === 0 ? ["all at their defaults"] : changed)
  ]
}

/** The credit in the run's identity; absent for runs that are not trained on rewards. */
const credited = ({ opened }: Story.Story): ReadonlyArray<string> => {
  const credit = opened?.identity["credit"]
  return credit === undefined
    ? []
    : Wrapped.lines("credit      ", "            ", CreditText.parts(credit).map(Untrusted.show))
}

/** Each evaluator's first and newest measurement. */
const trends = ({ story }: RunHistory.RunHistory): ReadonlyArray<string> =>
  Story.evaluators(story).flatMap((evaluator) => {
    const measured = Story.evaluations(story).flatMap(({ evaluated }) => {
      const reading = evaluated?.evaluator === evaluator ? Diagnosis.reading(evaluated) : undefined
      return reading === undefined ? [] : [reading]
    })
    const [first, last] = [measured[0], measured.at(-1)]
    if (first === undefined || last === undefined) return []
    const name = first.unit === "nats" ? `${evaluator} ${first.metric}` : evaluator
    const curve = Sparkline.of(measured.slice(-shownRewards).map(({ value }) => value))
    const change = `${Diagnosis.value(first.value, first.unit)} → ${Diagnosis.value(last.value, last.unit)}`
    return [`${Untrusted.show(name).padEnd(11)} ${curve} ${change}`]
  })

/** The best instruction so far of a run that optimises it, without line breaks. */
const instructed = (instruction: string | undefined): ReadonlyArray<string> =>
  instruction === undefined ? [] : [`instruction ${Untrusted.show(instruction)}`]

const shownFindings = 3

/** The first findings of a transcript audit. */
const suspected = (run: string, findings: ReadonlyArray<Audit.Finding> | undefined): ReadonlyArray<string> => {
  if (findings === undefined) return [`audit       not made here: the run is large; effect-rl audit ${run} makes it`]
  if (findings.length === 0) return ["audit       nothing suspicious"]
  const more = findings.length - shownFindings
  return [
    ...findings.slice(0, shownFindings).map(({ check, detail, iteration }) =>
      `audit       iteration ${iteration + 1}: ${check}: ${Untrusted.show(detail)}`
    ),
    ...(more > 0 ? [`            and ${more} more: effect-rl audit ${run}`] : [])
  ]
}

const head = (
  run: string,
  { done, failures, forecast, health, iterations, model, program, spent, state, tokens, warnings }: Summary,
  history: RunHistory.RunHistory,
  { diagnosis, findings }: Diagnosed,
  instruction: string | undefined,
  style: Style
) => [
  `${style.bold(Untrusted.show(run))}  ${Untrusted.show(program)}, ${Untrusted.show(model)}`,
  ...verdict(diagnosis, style),
  `state       ${Untrusted.show(state)}`,
  `iterations  ${iterations === null ? done : `${done} of ${iterations}`}`,
  ...rewardLine(history),
  ...trends(history),
  ...instructed(instruction),
  ...(health === "" ? [] : [`health      ${health}`]),
  ...concerns(diagnosis).map((text) => style.warn(`look at     ${text}`)),
  `tokens      ${amounts(tokens)}`,
  ...spending(spent).map((text) => `spent       ${text}`),
  ...(forecast === null ? [] : [`forecast    about ${ForecastText.of(forecast)} in all`]),
  ...credited(history.story),
  ...launched(history.story),
  `failures    ${listed(failures) || "none"}`,
  ...suspected(Untrusted.show(run), findings).map((text) => findings?.length === 0 ? text : style.warn(text)),
  ...warnings.map((text) => style.warn(`warning     ${Untrusted.show(text)}`))
]

interface Diagnosed {
  readonly diagnosis: Diagnosis.Diagnosis
  /** The audit's findings; undefined if the transcripts were not audited. */
  readonly findings: ReadonlyArray<Audit.Finding> | undefined
}

const diagnose = Effect.fnUntraced(function*(
  reader: RunStore.RunReader,
  { story }: RunHistory.RunHistory,
  isWritten: boolean
) {
  const groups = story.records.filter(({ _tag }) => _tag === "GroupRolledOut").length
  const findings = groups > Audit.mostAtOnce ? undefined : yield* Stream.runCollect(Audit.run(reader))
  const diagnosed: Diagnosed = {
    findings,
    diagnosis: Diagnosis.of(story, { isWritten, ...(findings === undefined ? {} : { findings }) })
  }
  return diagnosed
})

const report = Effect.fnUntraced(function*(reader: RunStore.RunReader) {
  const output = yield* Output
  const run = reader.name
  const isWritten = yield* RunDirectory.isHeld(run)
  const history = yield* RunHistory.read(reader)
  const told = summary(history.story, yield* Clock.currentTimeMillis, isWritten)
  const transcripts = yield* Transcripts.read(reader, history)
  const diagnosed = yield* diagnose(reader, history, isWritten)
  const instruction = told.program === "prompts"
    ? Prompts.best(yield* Stream.runCollect(reader.read))?.instruction
    : undefined
  yield* output.lines([
    ...head(run, told, history, diagnosed, instruction, output.style),
    ...FinalReport.lines(history, output)
  ])
  if (transcripts.length > 0) yield* output.lines(["", ...Transcripts.lines(transcripts, output.style)])
  const { diagnosis: { doubts, kind, level, sentence }, findings } = diagnosed
  yield* output.record({
    type: "run",
    run,
    verdict: { kind, level, sentence, doubts },
    ...told,
    launch: Story.launch(history.story) ?? null,
    ...(instruction === undefined ? {} : { instruction }),
    findings: findings ?? null,
    ...FinalReport.record(history),
    transcripts
  })
})

interface Asked extends RolloutFilter.Filter {
  readonly run: string
  readonly rollouts: boolean
  readonly rollout: Option.Option<string>
}

/** Opens a run. If the folder contains several runs, the error names one of them and the command that lists them. */
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
