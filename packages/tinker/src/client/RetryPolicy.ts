/** Retry policies, one for each kind of request. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { Event, type Observe } from "./Activity.ts"
import type { WireError } from "./WireError.ts"

export type RetryPolicy = Schedule.Schedule<unknown, WireError>

/** Doubling up to `most`, jittered, never sooner than the service asks for. */
const paced = (first: Duration.Input, most: Duration.Input): RetryPolicy =>
  Schedule.min([Schedule.exponential(first), Schedule.spaced(most)]).pipe(
    Schedule.jittered,
    Schedule.setInputType<WireError>(),
    Schedule.modifyDelay(({ duration, input }) =>
      Effect.succeed(Duration.max(duration, Duration.millis(input.retryAfterMillis ?? 0)))
    )
  )

const onlyWhen = (holds: (error: WireError) => boolean) => (policy: RetryPolicy): RetryPolicy =>
  Schedule.while(policy, ({ input }) => holds(input))

/** How long a request is sent again before it counts as failed. */
const patience = "5 minutes"

/** Sessions, models, listings: anything answered at once. */
export const control: RetryPolicy = paced("500 millis", "10 seconds").pipe(
  onlyWhen((error) => error.isTransient),
  Schedule.upTo({ duration: patience })
)

/** The first request of a client: no answer means a wrong address more often than a temporary outage. */
export const firstContact: RetryPolicy = paced("500 millis", "2 seconds").pipe(
  onlyWhen((error) => error.isTransient),
  Schedule.upTo({ duration: "15 seconds" })
)

/** Numbered requests of a model, which the service carries out once even if they are sent again. */
export const training: RetryPolicy = control

/** A 429 here is no failure: it pauses all sampling, see `SampleDispatch`. */
export const sampling: RetryPolicy = paced("500 millis", "10 seconds").pipe(
  onlyWhen(({ isTransient, reason }) => isTransient && reason._tag !== "RateLimited"),
  Schedule.upTo({ duration: patience })
)

/** A result may take long: only the deadline ends the polling. An unreadable answer was asked for again before. */
export const polling: RetryPolicy = paced("1 second", "30 seconds").pipe(
  onlyWhen(({ isTransient, reason }) => isTransient && reason._tag !== "Unreadable")
)

/** A sample whose result is lost is requested again. */
export const resampling: RetryPolicy = paced("500 millis", "10 seconds").pipe(
  onlyWhen(({ reason }) => reason._tag === "PromiseLost"),
  Schedule.upTo({ times: 10 })
)

/** An account that cannot pay may be topped up meanwhile. */
export const billing = (longest: Duration.Duration): RetryPolicy =>
  Schedule.spaced("5 seconds").pipe(
    Schedule.setInputType<WireError>(),
    onlyWhen(({ reason }) => reason._tag === "BillingPaused"),
    Schedule.upTo({ duration: longest })
  )

/** An archive that is still being made. */
export const archive: RetryPolicy = Schedule.spaced("30 seconds").pipe(
  Schedule.setInputType<WireError>(),
  onlyWhen(({ reason }) => reason._tag === "Refused" && (reason.status === 409 || reason.status === 503)),
  Schedule.upTo({ times: 6 })
)

/** The retries of a download: gives up after ten failures in a row without a byte between them. */
export const download: RetryPolicy = paced("1 second", "30 seconds").pipe(
  onlyWhen((error) => error.isTransient),
  Schedule.upTo({ times: 10 })
)

const eventOf = (request: string, { attempt, duration, input }: Schedule.Metadata<unknown, WireError>) => {
  const millis = Duration.toMillis(duration)
  return input.reason._tag === "BillingPaused"
    ? Event.Paused({ because: "billing", millis })
    : Event.Retried({ request, attempt, delayMillis: millis, error: input.reason._tag, detail: input.message })
}

/** Reports each retry as an event. */
export const observed = (policy: RetryPolicy, request: string, observe: Observe): RetryPolicy =>
  Schedule.tap(policy, (metadata) => Effect.sync(() => observe(eventOf(request, metadata))))

/** Retries as the policy says; its schedule is made by the first failure, because most attempts succeed. */
export const retry = (policy: () => RetryPolicy) => <A>(attempt: Effect.Effect<A, WireError>) =>
  Effect.catch(attempt, (failure) => {
    let isFirst = true
    const next = Effect.suspend(() => {
      if (!isFirst) return attempt
      isFirst = false
      return Effect.fail(failure)
    })
    return Effect.retry(next, policy())
  })
