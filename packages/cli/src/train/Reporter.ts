/** Reports a run's progress live. */
import { RunRecord } from "@effect-rl/core"
import { Caps } from "@effect-rl/core/program"
import { Quantity } from "@effect-rl/core/records"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { Output } from "../terminal/Output.ts"
import * as LiveScreen from "./LiveScreen.ts"
import * as Progress from "./Progress.ts"
import * as ProgressText from "./ProgressText.ts"

export interface Options {
  readonly folder: string
  /** Maximum tokens per response. */
  readonly maxTokens: number
}

/** Interval at which the live screen is redrawn. */
const redrawEvery = "200 millis"

/** Milliseconds without output after which progress is reported, if the output is not a terminal. */
const longestSilence = 30_000

const openedLines = (
  { capabilities, iteration, iterations, resumedFrom }: RunRecord.Opened,
  folder: string
) => [
  resumedFrom === null
    ? `training ${iterations === null ? "without end" : Quantity.plural(iterations, "iteration")}, kept in ${folder}`
    : iterations !== null && iteration >= iterations
    ? `the run in ${folder} is finished: raise --iterations to train on, or give another --seed or --log-path for a new run`
    : `resuming the run in ${folder} after ${
      iterations === null
        ? Quantity.plural(iteration, "iteration")
        : `${iteration} of ${Quantity.plural(iterations, "iteration")}`
    }`,
  `the backend reduces losses as ${capabilities["lossReduction"]} and reads ${
    capabilities["contextLength"]
  } tokens at once`
]

const isCap = Schema.is(Schema.Literals(Caps.names))

const tell = Effect.fnUntraced(function*(
  record: RunRecord.RunRecord,
  progress: Progress.Progress,
  { folder }: Options
) {
  const output = yield* Output
  yield* output.record(RunRecord.toJson(record))
  switch (record._tag) {
    case "Opened":
      return yield* output.lines(openedLines(record, folder))
    case "Updated": {
      const now = output.mode === "live" ? undefined : yield* Clock.currentTimeMillis
      return yield* output.lines([ProgressText.iteration(record, progress, output.style, now)])
    }
    case "Evaluated":
      return yield* output.lines(ProgressText.evaluated(record, output.style))
    case "Warning":
      return yield* output.lines([output.style.warn(`warning: ${record.message}`)])
    case "Finished":
      return isCap(record.reason)
        ? yield* output.lines([
          output.style.warn(
            `stopped after ${Quantity.plural(record.iteration, "iteration")}: continuing could exceed ` +
              `--${record.reason.replaceAll("_", "-")}`
          )
        ])
        : undefined
  }
})

/** Warns once that the token limit is too low, when an iteration first shows it. */
const advise = Effect.fnUntraced(function*(
  record: RunRecord.RunRecord,
  advised: Ref.Ref<boolean>,
  { maxTokens }: Options
) {
  const advice = record._tag === "Updated" ? ProgressText.truncationAdvice(record, maxTokens) : undefined
  if (advice === undefined || (yield* Ref.getAndSet(advised, true))) return
  const output = yield* Output
  yield* output.lines([output.style.warn(`advice: ${advice}`)])
})

/** The state of a progress report. */
interface Telling {
  readonly progress: Ref.Ref<Progress.Progress>
  /** When a line was last printed, in milliseconds. */
  readonly toldAt: Ref.Ref<number>
  readonly advised: Ref.Ref<boolean>
}

/** Redraws the live screen on a terminal; on other outputs, prints a line after a long silence. */
const keepMoving = Effect.fnUntraced(function*({ progress, toldAt }: Telling) {
  const output = yield* Output
  const line = Effect.map(
    Effect.all([Ref.get(progress), Clock.currentTimeMillis]),
    ([state, now]) => ProgressText.live(state, now)
  )
  const move = Effect.flatMap(
    Effect.all([Ref.get(progress), Clock.currentTimeMillis]),
    ([state, now]) => output.live(LiveScreen.text(state, now))
  )
  const speakUp = Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    const text = yield* line
    if (text === "" || now - (yield* Ref.get(toldAt)) < longestSilence) return
    yield* output.lines([text])
    yield* Ref.set(toldAt, now)
  })
  yield* output.mode === "live"
    ? Effect.repeat(move, Schedule.spaced(redrawEvery))
    : Effect.repeat(speakUp, Schedule.spaced("1 second"))
})

/** Makes a function that reports each record, with a live screen until the scope closes. */
export const make = Effect.fnUntraced(function*(options: Options) {
  const now = yield* Clock.currentTimeMillis
  const telling: Telling = {
    progress: yield* Ref.make(Progress.begin(now)),
    toldAt: yield* Ref.make(now),
    advised: yield* Ref.make(false)
  }
  yield* Effect.forkScoped(keepMoving(telling))
  return Effect.fnUntraced(function*(record: RunRecord.RunRecord) {
    const progress = yield* Ref.updateAndGet(telling.progress, (state) => Progress.update(state, record))
    const output = yield* Output
    // Hundreds of groups may finish per second: the screen shows them when it is next redrawn.
    if (record._tag !== "GroupRolledOut") {
      yield* output.live(LiveScreen.text(progress, yield* Clock.currentTimeMillis))
    }
    yield* tell(record, progress, options)
    yield* advise(record, telling.advised, options)
    if (record._tag !== "GroupRolledOut") yield* Ref.set(telling.toldAt, yield* Clock.currentTimeMillis)
  })
})
