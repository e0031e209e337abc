/** A program that uses a service, and the properties that must hold whatever happens. */
import { Loss, Tinker, TinkerError } from "@effect-rl/core"
import { Datum, ModelInput, type Pending, type Sampling, type TrainingClient } from "@effect-rl/core/backend"
import { Activity, WireError } from "@effect-rl/tinker"
import { Cause, Clock, Duration, Effect, Exit, Stream } from "effect"
import * as HonestService from "./HonestService.ts"

/** A call and its result. */
export interface Outcome {
  readonly operation: string
  readonly exit: Exit.Exit<unknown, unknown>
  readonly millis: number
  /** The maximum duration in multiples of the deadline; some calls make several requests in sequence. */
  readonly patience: number
  /** The work that the service must do for the call, each part once. */
  readonly deeds: ReadonlyArray<string>
  /** For a training call, the index of its client. */
  readonly life?: number
  /** Its position among the starts and ends of all calls. */
  readonly began: number
  readonly ended: number
}

export interface Report {
  readonly outcomes: ReadonlyArray<Outcome>
  /** Permits in use or waited for after all calls have ended, by pool. */
  readonly permits: Readonly<Record<string, number>>
}

export const fallible = [
  "createSamplingClient",
  "sample",
  "computeLogprobs",
  "createLoraTrainingClient",
  "forwardBackward",
  "optimStep",
  "saveState",
  "saveWeightsAndGetSamplingClient"
]

export const operations = [...fallible, "unload"]

const prompt = ModelInput.fromTokens([5, 6, 7, 8])

const datum = (tag: number) =>
  Datum.weightedTokens(ModelInput.fromTokens([1, 2, 3]), {
    targetTokens: Int32Array.of(tag, 3, 4),
    weights: Float32Array.of(0, 1, 1)
  })

/** A successful result that an honest service would not return. */
class Deceived extends TypeError {}

const same = (left: unknown, right: unknown) => JSON.stringify(left, plain) === JSON.stringify(right, plain)

const plain = (_: string, value: unknown) =>
  value instanceof Float32Array || value instanceof Int32Array ? Array.from(value, String) : value

const expect = <A>(found: A, expected: A) =>
  same(found, expected) ? Effect.succeed(found) : Effect.die(new Deceived(JSON.stringify(found, plain)))

const failedAs = (exit: Exit.Exit<unknown, unknown>, holds: (error: TinkerError.TinkerError) => boolean) =>
  Exit.isFailure(exit) &&
  exit.cause.reasons.some((reason) =>
    Cause.isFailReason(reason) && reason.error instanceof TinkerError.TinkerError && holds(reason.error)
  )

const isClosed = (exit: Exit.Exit<unknown, unknown>) => failedAs(exit, ({ reason }) => reason._tag === "Closed")

/** Whether it is unknown if the service has changed the model. */
const isUnclear = ({ exit, operation }: Outcome) =>
  (operation === "forwardBackward" || operation === "optimStep")
  && failedAs(exit, ({ cause }) => cause instanceof WireError.WireError && cause.mayBeDone)

const make = () => {
  const outcomes: Array<Outcome> = []
  let moment = 0
  const note = <A, E, R>(
    operation: string,
    call: Effect.Effect<A, E, R>,
    { deeds = [], patience = 1, ...options }: Partial<Pick<Outcome, "deeds" | "life" | "patience">> = {}
  ) =>
    Effect.gen(function*() {
      const began = moment++
      const started = yield* Clock.currentTimeMillis
      const exit = yield* Effect.exit(call)
      const millis = (yield* Clock.currentTimeMillis) - started
      outcomes.push({ operation, exit, deeds, patience, ...options, millis, began, ended: moment++ })
      return exit
    })
  return { outcomes, note }
}

type Note = ReturnType<typeof make>["note"]

const run = <A, R>(submit: Effect.Effect<Pending.Pending<A>, TinkerError.TinkerError, R>) =>
  Effect.flatMap(submit, (pending) => pending.await)

/** A pass with three data takes two requests and two polls, each within its deadline. */
const passPatience = 3

const learn = (note: Note, client: TrainingClient.TrainingClient, life: number, first: number) => {
  const tags = [first, first + 1, first + 2] as const
  const [one, two, three] = tags
  const pass = Effect.map(
    client.forwardBackward([datum(one), datum(two), datum(three)], Loss.crossEntropy),
    (pending) =>
      Effect.flatMap(
        pending.await,
        ({ logprobs }) => expect(logprobs, tags.map((tag) => HonestService.logprobsOf(Int32Array.of(tag, 3, 4))))
      )
  )
  return note("forwardBackward", Effect.flatten(pass), {
    life,
    deeds: tags.map((tag) => `learn ${tag}`),
    patience: passPatience
  })
}

const step = (note: Note, client: TrainingClient.TrainingClient, life: number, learningRate: number) =>
  note("optimStep", run(client.optimStep({ learningRate })), { life, deeds: [`step ${learningRate}`], patience: 3 })

/**
 * Limit in deadlines for a call of a round. Three of a round's six calls run at once; the deadline of another starts when one has ended.
 */
const placePatience = 2

/** A sequence without the service's id, which differs between answers. */
const unnamed = ({ logprobs, stopReason, tokens }: Sampling.SampledTokens): Sampling.SampledTokens => ({
  tokens,
  logprobs,
  stopReason
})

const sampling = Effect.fnUntraced(function*(note: Note, round: number) {
  const tinker = yield* Tinker.Tinker
  const created = yield* note("createSamplingClient", tinker.createSamplingClient({ baseModel: "honest" }), {
    patience: 2
  })
  if (Exit.isFailure(created)) return
  const client = created.value
  const sample = (seed: number) => {
    const request = { prompt, numSamples: 2, params: { maxTokens: 3, seed } }
    return Effect.flatMap(
      client.sample(request),
      (found) => expect({ ...found, sequences: found.sequences.map(unnamed) }, HonestService.responseTo(request))
    )
  }
  const scored = Effect.flatMap(
    client.computeLogprobs(prompt),
    (found) => expect(found, Float32Array.of(NaN, -1, -2, -3))
  )
  yield* Effect.all([
    ...[1, 2, 3, 4].map((seed) => note("sample", sample(10 * round + seed), { patience: placePatience })),
    note("computeLogprobs", scored, { patience: placePatience }),
    Effect.timeoutOption(sample(10 * round + 5), "20 seconds").pipe(Effect.exit)
  ], { concurrency: "unbounded" })
})

/** Two rounds of training with a client, until a call makes it unusable. */
const training = Effect.fnUntraced(function*(note: Note, life: number) {
  const tinker = yield* Tinker.Tinker
  const created = yield* note(
    "createLoraTrainingClient",
    tinker.createLoraTrainingClient({ baseModel: "honest", loraRank: 8 }),
    { patience: 3 }
  )
  if (Exit.isFailure(created)) return
  const client = created.value
  for (const round of [0, 1]) {
    const number = 10 * life + round
    const pass = learn(note, client, life, 3 * number)
    const update = step(note, client, life, (number + 1) / 1000)
    const exits = yield* Effect.all([pass, update], { concurrency: round === 0 ? 1 : 2 })
    const save = yield* note("saveState", run(client.saveState(`save-${number}`)), {
      life,
      deeds: [`save save-${number}`],
      patience: 4
    })
    yield* note("saveWeightsAndGetSamplingClient", client.saveWeightsAndGetSamplingClient, { patience: 3 })
    if ([...exits, save].some(isClosed)) return
  }
  yield* note("unload", client.unload)
})

/** Trains and samples concurrently, with new clients in place of broken ones. */
export const workload: Effect.Effect<Report, never, Tinker.Tinker | Activity.Activity> = Effect.gen(function*() {
  const { note, outcomes } = make()
  const permits: Record<string, number> = {}
  const activity = yield* Activity.Activity
  yield* activity.events.pipe(
    Stream.runForEach((event) =>
      Effect.sync(() => {
        if (event._tag === "Permits" && event.pool !== "connections") permits[event.pool] = event.inUse + event.waiting
      })
    ),
    Effect.forkScoped
  )
  yield* Effect.yieldNow
  yield* Effect.all([
    Effect.forEach([0, 1], (life) => Effect.scoped(training(note, life)), { discard: true }),
    Effect.forEach([0, 1, 2], (round) => Effect.scoped(sampling(note, round)), { discard: true })
  ], { concurrency: 2 })
  yield* Effect.sleep(Duration.millis(1))
  return { outcomes, permits }
}).pipe(Effect.scoped)

const tell = ({ exit, millis, operation }: Outcome) =>
  `${operation} after ${millis} ms: ${Exit.isSuccess(exit) ? "success" : Cause.pretty(exit.cause)}`

const isTyped = ({ exit }: Outcome) =>
  Exit.isSuccess(exit) ||
  exit.cause.reasons.every((reason) => Cause.isFailReason(reason) && reason.error instanceof TinkerError.TinkerError)

/** The violated properties; empty if all hold. */
export const violations = (
  { outcomes, permits }: Report,
  deeds: ReadonlyArray<HonestService.Deed>,
  deadline: Duration.Duration
): ReadonlyArray<string> => {
  const isDone = (what: string) => deeds.some((deed) => deed.what === what)
  const late = ({ millis, patience }: Outcome) => millis > patience * Duration.toMillis(deadline) + 1
  return [
    ...outcomes.filter((outcome) => !isTyped(outcome)).map((outcome) => `no typed error: ${tell(outcome)}`),
    ...outcomes.filter(late).map((outcome) => `past its deadline: ${tell(outcome)}`),
    ...outcomes.flatMap((outcome) =>
      Exit.isSuccess(outcome.exit)
        ? outcome.deeds.filter((deed) => !isDone(deed)).map((deed) => `${deed} was never done: ${tell(outcome)}`)
        : []
    ),
    ...regardless(outcomes),
    ...Object.entries(permits).filter(([, held]) => held !== 0).map(([pool, held]) => `${held} permits of ${pool} held`)
  ]
}

/** Calls that continued with a model whose state was unknown. */
const regardless = (outcomes: ReadonlyArray<Outcome>) =>
  outcomes.filter(isUnclear).flatMap((unclear) =>
    outcomes.filter(({ began, exit, life }) => life === unclear.life && began > unclear.ended && !isClosed(exit)).map(
      (after) => `went on after ${tell(unclear)}: ${tell(after)}`
    )
  )

/** The work that the service did twice or out of order. Snapshots may repeat. */
export const disorder = (deeds: ReadonlyArray<HonestService.Deed>): ReadonlyArray<string> =>
  deeds.flatMap((deed, index) => {
    const after = deeds.slice(index + 1)
    const repeated = after.filter(({ what }) => what !== "snapshot" && what === deed.what)
    // An abandoned save may arrive late, but changes nothing.
    const overtaken = after.filter(({ model, sequence, what }) =>
      what.startsWith("learn") && deed.what.startsWith("step") && model === deed.model &&
      (sequence ?? 0) < (deed.sequence ?? 0)
    )
    return [
      ...repeated.map(({ sequence }) => `${deed.what} was done twice, as ${deed.sequence} and ${sequence}`),
      ...overtaken.map(({ what }) => `${what} came after ${deed.what}`)
    ]
  })
