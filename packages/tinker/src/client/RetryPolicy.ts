/** Retry policies for each kind of request. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { Event, type Observe } from "./Activity.ts"
import type { WireError } from "./WireError.ts"

export type RetryPolicy = Schedule.Schedule<unknown, WireError>

/** Exponential backoff with jitter from `first` up to `most`, never sooner than the service requests. */
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

/** How long to retry a request before it fails. */
const patience = "5 minutes"

/** Policy for requests that are answered immediately, such as those for sessions, models and listings. */
export const control: RetryPolicy = paced("500 millis", "10 seconds").pipe(
  onlyWhen((error) => error.isTransient),
  Schedule.upTo({ duration: patience })
)

/** Policy for a client's first request. No answer means a wrong address more often than a temporary outage. */
export const firstContact: RetryPolicy = paced("500 millis", "2 seconds").pipe(
  onlyWhen((error) => error.isTransient),
  Schedule.upTo({ duration: "15 seconds" })
)

/** Policy for numbered model requests, which the service carries out only once even if they are repeated. */
export const training: RetryPolicy = control

/** Policy for samples. A 429 is not a failure here; it pauses all sampling, see `SampleDispatch`. */
export const sampling: RetryPolicy = paced("500 millis", "10 seconds").pipe(
  onlyWhen(({ isTransient, reason }) => isTransient && reason._tag !== "RateLimited"),
  Schedule.upTo({ duration: patience })
)

/**
 * Policy for polling, which ends only at the deadline because a result may take long. Unreadable answers have already been retried
 * separately.
 */
export const polling: RetryPolicy = paced("1 second", "30 seconds").pipe(
  onlyWhen(({ isTransient, reason }) => isTransient && reason._tag !== "Unreadable")
)

/** Policy for repeating sampling requests whose result was lost. */
export const resampling: RetryPolicy = paced("500 millis", "10 seconds").pipe(
  onlyWhen(({ reason }) => reason._tag === "PromiseLost"),
  Schedule.upTo({ times: 10 })
)

/** Policy for accounts that cannot pay, which may be topped up in the meantime. */
export const billing = (longest: Duration.Duration): RetryPolicy =>
  Schedule.spaced("5 seconds").pipe(
    Schedule.setInputType<WireError>(),
    onlyWhen(({ reason }) => reason._tag === "BillingPaused"),
    Schedule.upTo({ duration: longest })
  )

/** Policy for an archive that the service is still creating. */
export const archive: RetryPolicy = Schedule.spaced("30 seconds").pipe(
  Schedule.setInputType<WireError>(),
  onlyWhen(({ reason }) => reason._tag === "Refused" && (reason.status === 409 || reason.status === 503)),
  Schedule.upTo({ times: 6 })
)

/** Policy for downloads. Gives up after ten consecutive failures without any new byte. */
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

/** Returns a policy that also reports each retry as an event. */
export const observed = (policy: RetryPolicy, request: string, observe: Observe): RetryPolicy =>
  Schedule.tap(policy, (metadata) => Effect.sync(() => observe(eventOf(request, metadata))))

/** Retries according to the policy. The schedule is created at the first failure, because most attempts succeed. */
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
