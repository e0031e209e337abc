/** Trains one model on the service. */
import { type Loss, TinkerError } from "@effect-rl/core"
import {
  type Datum,
  type LossGraphPass,
  Pending,
  RequestRules,
  type SamplingClient,
  type TrainingClient
} from "@effect-rl/core/backend"
import type { LossGraph } from "@effect-rl/core/losses"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Predicate from "effect/Predicate"
import * as Record from "effect/Record"
import type * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as SavedWeights from "../wire/SavedWeights.ts"
import * as Training from "../wire/Training.ts"
import * as Connection from "./Connection.ts"
import * as Futures from "./Futures.ts"
import * as Passes from "./Passes.ts"
import * as Saves from "./Saves.ts"
import type { Submission } from "./TrainingQueue.ts"
import { named, orNotFound } from "./WireError.ts"

export interface Parts extends Omit<Passes.Parts, "modelId"> {
  readonly info: TrainingClient.ModelInfo
  /** Returns the next number for a sampling session of this client session. */
  readonly nextSamplingId: () => number
  readonly sampleFrom: (sessionId: string) => Effect.Effect<SamplingClient.SamplingClient, never, Scope.Scope>
  /** Owns the queue and the model on the service. */
  readonly scope: Scope.Closeable
}

type Data<K extends Datum.Kind> = ReadonlyArray<Datum.Datum<NoInfer<K>>>

const adamBody = (adam: Effect.Success<ReturnType<typeof RequestRules.adam>>) => ({
  learning_rate: adam.learningRate,
  beta1: adam.beta1,
  beta2: adam.beta2,
  eps: adam.eps,
  weight_decay: adam.weightDecay,
  grad_clip_norm: adam.gradClipNorm
})

const noSession = new TinkerError.Unavailable({ detail: "the service answered without a sampling_session_id" })

/** Custom losses send their gradient as cross-entropy weights, which a server that averages losses would divide by their sum. */
const noSum = new TinkerError.Unsupported({
  capability: "forwardBackwardCustom",
  detail: "the server averages losses over sequences, which changes the gradient of a custom loss"
})

export const make = (parts: Parts): TrainingClient.TrainingClient => {
  const { dialect, futures, info, limits, nextSamplingId, queue, sampleFrom, scope } = parts
  const model_id = info.modelId
  const passes = { ...parts, modelId: model_id }

  const pass =
    (operation: "forward" | "forwardBackward") => <K extends Datum.Kind>(data: Data<K>, loss: Loss.Loss<K>) =>
      Passes.submit(passes, operation, { data, loss })

  const forward = Effect.fn("TrainingClient.forward")(pass("forward"))
  const forwardBackward = Effect.fn("TrainingClient.forwardBackward")(pass("forwardBackward"))

  /** Submits a request whose result is JSON. */
  const request = <S extends Schema.Decoder<unknown>>(
    kind: Futures.Kind,
    path: string,
    body: object,
    schema: S
  ): Submission<S["Type"]> =>
  (nextSeqId) =>
    Futures.promised(
      futures,
      kind,
      Connection.post(path, { model_id, ...body, seq_id: nextSeqId() }),
      Futures.json(schema)
    )

  const save =
    (operation: string, kind: Saves.Kind) =>
    (name: string, options: TrainingClient.SaveOptions & TrainingClient.ExternalSaveOptions = {}) =>
      Effect.andThen(
        named(operation)(dialect.save(name, options.ttl !== undefined)),
        queue.submit({
          operation,
          change: "none",
          submission: Saves.submission(futures, model_id, kind, name, options)
        })
      )

  /**
   * Creates a sampler of the current weights. The sampler's number is drawn once, because a repeated request with a new number would save
   * later weights.
   */
  const sampler = (
    operation: "saveWeightsAndGetSamplingClient" | "saveInflightWeightsAndGetSamplingClient",
    kind: { readonly kind?: "inflight" }
  ) =>
    Effect.suspend(() => {
      const body = { sampling_session_seq_id: nextSamplingId(), ...kind, type: "save_weights_for_sampler" }
      return queue.submit({
        operation,
        change: "none",
        submission: request(
          "SaveWeightsForSampler",
          "/save_weights_for_sampler",
          body,
          SavedWeights.SaveWeightsForSamplerResult
        )
      }).pipe(
        Effect.flatMap((pending) => pending.await),
        Effect.flatMap(({ sampling_session_id: id }) =>
          id === undefined || id === null ? named(operation)(Effect.fail(noSession)) : sampleFrom(id)
        ),
        Effect.withSpan(`TrainingClient.${operation}`)
      )
    })

  const client: TrainingClient.TrainingClient = {
    info,
    forward,
    forwardBackward,
    forwardBackwardCustom: Effect.fn("TrainingClient.forwardBackwardCustom")((data, loss) =>
      limits.capabilities.lossReduction === "sequence-mean"
        ? named("forwardBackwardCustom")(Effect.fail(noSum))
        : Passes.submitCustom(passes, data, loss)
    ),
    ...(parts.config.computesGraphs && limits.capabilities.lossReduction !== "sequence-mean"
      ? {
        forwardBackwardGraph: Effect.fn("TrainingClient.forwardBackwardGraph")(
          (data: LossGraphPass.Data, graph: LossGraph.LossGraph) => Passes.submitGraph(passes, data, graph)
        )
      }
      : {}),
    optimStep: Effect.fn("TrainingClient.optimStep")(function*(params) {
      const adam = yield* named("optimStep")(RequestRules.adam(params))
      yield* named("optimStep")(dialect.adam(adam.gradClipNorm))
      const body = { adam_params: adamBody(adam), type: "optim_step" }
      const submission = request("OptimStep", "/optim_step", body, Training.OptimStepResult)
      const pending = yield* queue.submit({ operation: "optimStep", change: "whole", submission })
      return Pending.map(pending, ({ metrics }) => ({ metrics: Record.filter(metrics ?? {}, Predicate.isNotNull) }))
    }),
    saveState: Effect.fn("TrainingClient.saveState")(save("saveState", "weights")),
    saveWeightsForSampler: Effect.fn("TrainingClient.saveWeightsForSampler")(
      save("saveWeightsForSampler", "sampler_weights")
    ),
    ...(dialect.savesExternal
      ? {
        saveWeightsExternal: Effect.fn("TrainingClient.saveWeightsExternal")(
          save("saveWeightsExternal", "external_weights")
        )
      }
      : {}),
    saveWeightsAndGetSamplingClient: sampler("saveWeightsAndGetSamplingClient", {}),
    ...(dialect.savesInflight
      ? {
        saveInflightWeightsAndGetSamplingClient: sampler("saveInflightWeightsAndGetSamplingClient", {
          kind: "inflight"
        })
      }
      : {}),
    loadState: Effect.fn("TrainingClient.loadState")(function*(path, { optimizer = false } = {}) {
      yield* named("loadState")(dialect.load(queue.isFresh()))
      yield* named("loadState")(dialect.path(path, "training"))
      const body = { path, optimizer, type: "load_weights" }
      const load = request("LoadWeights", "/load_weights", body, SavedWeights.LoadWeightsResult)
      const notFound = orNotFound("checkpoint", path)
      const pending = yield* queue.submit({
        operation: "loadState",
        change: "whole",
        submission: (nextSeqId, watchdog) => Effect.map(notFound(load(nextSeqId, watchdog)), notFound)
      })
      return Pending.map(pending, () => undefined)
    }),
    unload: queue.close("the training client was unloaded").pipe(
      Effect.andThen(Scope.close(scope, Exit.void)),
      Effect.withSpan("TrainingClient.unload")
    )
  }
  return client
}
