/** Tells of a run while it goes on. */
import type { Train } from "@effect-rl/core"
import type { Recipe } from "@effect-rl/recipes"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as Schedule from "effect/Schedule"
import * as Transcripts from "../report/Transcripts.ts"
import { Output } from "../terminal/Output.ts"
import * as Quantity from "../terminal/Quantity.ts"
import * as Progress from "./Progress.ts"
import * as ProgressText from "./ProgressText.ts"

export interface Options {
  readonly folder: string
  readonly transcriptsFile: string
  readonly config: Recipe.Task["config"]
}

/** How often the moving line moves. */
const redrawEvery = "200 millis"

/** In a file, a step that takes this long says from time to time how far it is. */
const longestSilence = 30_000

const startedLines = (
  { capabilities, iteration, iterations, resumedFrom, warnings }: Train.Started,
  folder: string
) => [
  resumedFrom === undefined
    ? `training ${Quantity.steps(iterations)}, kept in ${folder}`
    : iteration >= iterations
    ? `the run in ${folder} is finished: raise --steps to train on, or give another --seed or --log-path for a new run`
    : `resuming the run in ${folder} after ${iteration} of ${Quantity.steps(iterations)}`,
  `the backend reduces losses as ${capabilities.lossReduction} and reads ${capabilities.contextLength} tokens at once`,
  ...warnings.map((warning) => `warning: ${warning}`)
]

/** The event as a record: what is large is in the run's folder. */
const recordOf = (event: Train.Event): Readonly<Record<string, unknown>> => {
  const { _tag, ...fields } = event
  const type = _tag.replace(/(?<=[a-z])[A-Z]/g, "_$&").toLowerCase()
  if (event._tag !== "Evaluated") return { type, ...fields }
  const { metrics, name } = event.evaluation
  return { type, iteration: event.iteration, evaluator: name, metrics }
}

const tell = Effect.fnUntraced(function*(event: Train.Event, progress: Progress.Progress, { config, folder }: Options) {
  const output = yield* Output
  const now = yield* Clock.currentTimeMillis
  yield* output.record(recordOf(event))
  switch (event._tag) {
    case "Started":
      return yield* output.lines(startedLines(event, folder))
    case "Iteration":
      return yield* output.lines([ProgressText.step(event, progress, output.style, now)])
    case "Evaluated":
      return yield* output.lines([ProgressText.evaluated(event, output.style)])
    case "Finished":
      return event.reason === "completed" ? undefined : yield* output.lines([
        output.style.warn(
          `stopped after ${
            Quantity.steps(event.iteration)
          }: going on could use more than the ${config.maxTokensTotal} tokens of ` +
            "--max-tokens-total"
        )
      ])
  }
})

/** Says once that the token limit is too low, as soon as a step shows it. */
const advise = Effect.fnUntraced(function*(event: Train.Event, advised: Ref.Ref<boolean>, { config }: Options) {
  const advice = event._tag === "Iteration" ? ProgressText.truncationAdvice(event, config.maxTokens) : undefined
  if (advice === undefined || (yield* Ref.getAndSet(advised, true))) return
  const output = yield* Output
  yield* output.lines([output.style.warn(`advice: ${advice}`)])
})

const keepTranscripts = Effect.fnUntraced(function*(event: Train.Event, { config, transcriptsFile }: Options) {
  if (event._tag !== "Evaluated" || event.evaluation.name !== config.evaluators?.[0]?.name) return
  const older = yield* Transcripts.read(transcriptsFile)
  const newer = Transcripts.of(event.evaluation, event.iteration)
  yield* Transcripts.write(transcriptsFile, Transcripts.merge(older, newer))
})

/** A run as it is told. */
interface Telling {
  readonly progress: Ref.Ref<Progress.Progress>
  /** When a line was last added, in milliseconds. */
  readonly toldAt: Ref.Ref<number>
  readonly advised: Ref.Ref<boolean>
}

/** Moves the last line of a terminal; elsewhere, breaks a long silence. */
const keepMoving = Effect.fnUntraced(function*({ progress, toldAt }: Telling) {
  const output = yield* Output
  const line = Effect.map(
    Effect.all([Ref.get(progress), Clock.currentTimeMillis]),
    ([state, now]) => ProgressText.live(state, now)
  )
  const move = Effect.flatMap(line, output.live)
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

/** A sink of events, with a moving line for as long as the scope is open. */
export const make = Effect.fnUntraced(function*(options: Options) {
  const { evalEvery = 20, evaluators = [] } = options.config
  const now = yield* Clock.currentTimeMillis
  const telling: Telling = {
    progress: yield* Ref.make(Progress.begin({ evalEvery, evaluators: evaluators.length, now })),
    toldAt: yield* Ref.make(now),
    advised: yield* Ref.make(false)
  }
  yield* Effect.forkScoped(keepMoving(telling))
  return Effect.fnUntraced(function*(event: Train.Event) {
    const progress = yield* Ref.updateAndGet(telling.progress, (state) => Progress.update(state, event))
    const output = yield* Output
    yield* output.live(ProgressText.live(progress, yield* Clock.currentTimeMillis))
    yield* keepTranscripts(event, options)
    yield* tell(event, progress, options)
    yield* advise(event, telling.advised, options)
    if (event._tag !== "GroupFinished") yield* Ref.set(telling.toldAt, yield* Clock.currentTimeMillis)
  })
})
