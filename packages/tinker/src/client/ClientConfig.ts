/** The client configuration from the service, fetched once; some settings are updated later. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Wire from "../wire/Service.ts"
import * as Answer from "./Answer.ts"
import type { Limits } from "./Chunks.ts"
import * as Connection from "./Connection.ts"
import * as RetryPolicy from "./RetryPolicy.ts"
import * as WireError from "./WireError.ts"

/** The official SDK release whose wire format this client uses. */
export const sdk_version = "0.38.0"

export interface Negotiated {
  /** Whether credentials are exchanged for expiring tokens. */
  readonly exchangesKeys: boolean
  /** Whether the credential command takes precedence over the API key. */
  readonly prefersCommand: boolean
  readonly chunks: Limits
  /** Whether all chunks of a pass except the first are posted concurrently, followed by the first. */
  readonly sendsChunksTogether: boolean
  readonly compressesPasses: boolean
  /** Maximum bytes of passes, samples and results in flight. */
  readonly passBytes: number
  readonly sampleBytes: number
  readonly responseBytes: number
  readonly maximumSamples: number
  /** Whether a sample whose result is lost is requested again. */
  readonly resamples: boolean
  /** Whether samples fail if none has completed for a long time. */
  readonly watchesSamples: boolean
  readonly billingPause: Duration.Duration
  /** Whether one request creates a model and loads its checkpoint. */
  readonly createsByLoading: boolean
  /** Whether the service tells a further client of a sampler where its request numbers start. */
  readonly joinsSamplers: boolean
  /** Whether the service lists the finished samples of a sampler, so one poll waits for all of them. */
  readonly listsFinished: boolean
  /** Whether the service stores and computes custom loss graphs. */
  readonly computesGraphs: boolean
}

/**
 * The configuration in a response, with defaults for absent settings. An empty response stands in until the first
 * answer arrives.
 */
export const fromResponse = (config: Wire.ClientConfigResponse): Negotiated => ({
  exchangesKeys: config.pjwt_auth_enabled ?? false,
  prefersCommand: config.credential_default_source === "credential_cmd",
  chunks: {
    maximumDatums: Math.max(config.fwdbwd_max_chunk_len ?? 1024, 1),
    maximumBytes: config.fwdbwd_max_chunk_bytes_count ?? 5_000_000
  },
  sendsChunksTogether: config.parallel_fwdbwd_chunks ?? true,
  compressesPasses: config.proto_compress_fwdbwd ?? false,
  passBytes: config.fwdbwd_dispatch_bytes_semaphore_size ?? 50_000_000,
  sampleBytes: config.sample_dispatch_bytes_semaphore_size ?? 10_485_760,
  responseBytes: config.inflight_response_bytes_semaphore_size ?? 52_428_800,
  maximumSamples: Math.max(config.sample_max_concurrent_requests ?? 2000, 1),
  resamples: !(config.sample_no_retries ?? false),
  watchesSamples: config.sample_enable_stuck_detection ?? true,
  billingPause: Duration.seconds(Math.max(config.billing_exception_max_pause_duration_sec ?? 3600, 0)),
  createsByLoading: config.create_model_via_load_weights ?? false,
  joinsSamplers: config.sample_join_sampling_session ?? false,
  listsFinished: config.sample_use_retrieve_futures ?? false,
  computesGraphs: config.custom_loss_server_side ?? false
})

/** Whether the error means that the service lacks the endpoint: a 404 or a 405. */
export const isAbsent = (error: WireError.WireError) =>
  WireError.hasStatus(error, 404) || WireError.hasStatus(error, 405)

/** Fetches the configuration. A server without the endpoint gets the default configuration. */
export const negotiate = (connection: Connection.Connection) =>
  Connection.call(
    connection,
    Connection.post("/client/config", { sdk_version }),
    Wire.ClientConfigResponse,
    RetryPolicy.firstContact
  ).pipe(
    Effect.catchIf(isAbsent, () => Effect.succeed<Wire.ClientConfigResponse>({})),
    Effect.map(fromResponse)
  )

const shortest = 10

const dynamicRequest = Connection.post("/client/dynamic_config", { sdk_version })

/** Settings that may change while a client is in use. */
export interface Dynamic {
  /** Whether the service asks clients to cancel samples whose callers stopped waiting. */
  cancelsSamples: boolean
}

/**
 * Fetches the changing settings, and again at the interval that the service requests, at least ten seconds. If the service lacks the
 * endpoint, the settings keep their defaults.
 */
export const keepUpToDate = Effect.fnUntraced(function*(connection: Connection.Connection) {
  const first = yield* Effect.catchIf(
    Connection.call(connection, dynamicRequest, Wire.DynamicConfigResponse),
    isAbsent,
    () => Effect.succeed(undefined)
  )
  const dynamic: Dynamic = { cancelsSamples: first?.sample_cancel_enabled ?? false }
  if (first === undefined) return dynamic
  let seconds = first.refresh_interval_sec
  const refresh = connection.attempt(dynamicRequest, "10 seconds").pipe(
    Effect.flatMap(Answer.reading(Wire.DynamicConfigResponse)),
    Effect.match({
      onFailure: () => undefined,
      onSuccess: ({ refresh_interval_sec, sample_cancel_enabled = false }) => {
        seconds = refresh_interval_sec
        dynamic.cancelsSamples = sample_cancel_enabled
      }
    })
  )
  yield* Effect.suspend(() => Effect.delay(refresh, Duration.seconds(Math.max(seconds, shortest)))).pipe(
    Effect.forever,
    Effect.forkScoped
  )
  return dynamic
})
