/** The training client of a scripted backend. */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as CustomLoss from "../backend/CustomLoss.ts"
import * as RequestQueue from "../backend/RequestQueue.ts"
import * as RequestRules from "../backend/RequestRules.ts"
import type { Reason } from "../backend/TinkerError.ts"
import type {
  CustomLoss as CustomLossFunction,
  ModelInfo,
  SaveOptions,
  TrainingClient
} from "../backend/TrainingClient.ts"
import type * as Datum from "../model/Datum.ts"
import * as Loss from "../model/Loss.ts"
import { Call } from "./Call.ts"
import * as Machine from "./Machine.ts"
import type * as Script from "./Script.ts"
import * as ScriptedSampling from "./ScriptedSampling.ts"
import * as TrainedState from "./TrainedState.ts"

/** The weights that a client starts from. */
export interface Start {
  readonly modelId: string
  readonly model: Machine.Model
  readonly checkpoint: Machine.Checkpoint
}

const given = ({ ttl, userMetadata }: SaveOptions = {}) => ({
  ttl: ttl === undefined ? undefined : Duration.fromInputUnsafe(ttl),
  ...(userMetadata === undefined ? {} : { userMetadata })
})

/** The number of bytes that the scripted backend reports per unit of LoRA rank. */
const bytesPerRank = 2 ** 18

/** Makes a client that trains until the surrounding scope closes or the client is unloaded. */
export const make = Effect.fnUntraced(
  function*(machine: Machine.Machine, { checkpoint: origin, model, modelId }: Start) {
    const client = modelId
    const queue = yield* RequestQueue.make
    const trained = yield* TrainedState.make(machine, model, origin)
    const { baseModel, loraRank } = origin
    // A model's memory holds its weights, its gradients and the optimizer's two moments: four equal parts.
    const snapshotBytes = loraRank * bytesPerRank / 4
    const info: ModelInfo = { modelId, baseModel, loraRank, memoryBytes: loraRank * bytesPerRank }

    const submitCall = Effect.fnUntraced(function*<A, E>(
      call: Call,
      run: (at: Script.At) => Effect.Effect<A, E>
    ) {
      const operation = Machine.portName(call._tag)
      const execute = Effect.gen(function*() {
        const at = { call: yield* machine.count(call._tag), step: (yield* trained.current).step }
        yield* Machine.failing(operation)(machine.disturb(call._tag, at.call))
        return yield* run(at)
      })
      const pending = yield* queue.submit(operation, execute, { isDecisive: call._tag === "ForwardBackwardCustom" })
      yield* machine.record(call)
      return pending
    })

    const submit = <A>(call: Call, run: (at: Script.At) => Effect.Effect<A, Reason>) =>
      submitCall(call, (at) => Machine.failing(Machine.portName(call._tag))(run(at)))

    const pass = (call: Script.PassCall) =>
      Effect.andThen(
        Machine.failing(Machine.portName(call._tag))(RequestRules.lossName(call.loss, model.capabilities)),
        submit(call, (at) => trained.pass(call, at))
      )

    const forwardBackwardCustom: TrainingClient["forwardBackwardCustom"] = Effect.fnUntraced(function*<E, R>(
      data: NonEmptyReadonlyArray<Datum.Datum<"WeightedTokens">>,
      customLoss: CustomLossFunction<E, R>
    ) {
      const call = Call.ForwardBackwardCustom({ client, data })
      const named = Machine.failing(Machine.portName(call._tag))
      const loss = Loss.crossEntropy
      const context = yield* Effect.context<R>()
      const passes = Effect.fnUntraced(function*(at: Script.At) {
        const { logprobs } = yield* named(trained.pass(Call.Forward({ client, data, loss }), at))
        const second = yield* CustomLoss.secondPass(data, customLoss, logprobs)
        const output = yield* named(trained.pass(Call.ForwardBackward({ client, data: second.data, loss }), at))
        return second.report(output)
      })
      return yield* submitCall(call, (at) => Effect.provide(passes(at), context))
    })

    const snapshot = Effect.gen(function*() {
      const pending = yield* submit(Call.Snapshot({ client }), () => trained.current)
      const { step, weights } = yield* pending.await
      const count = yield* machine.count("snapshot")
      const source = {
        modelPath: `scripted://${modelId}/snapshots/${count}`,
        model,
        weights,
        step,
        memoryBytes: snapshotBytes
      }
      return yield* machine.track("SamplingClient", ScriptedSampling.make(machine, source))
    })

    return {
      info,
      forward: (data, loss) => pass(Call.Forward({ client, data, loss })),
      forwardBackward: (data, loss) => pass(Call.ForwardBackward({ client, data, loss })),
      forwardBackwardCustom,
      optimStep: (adam) => submit(Call.OptimStep({ client, adam }), (at) => trained.optimStep(adam, at)),
      saveState: (name, options) =>
        submit(
          Call.SaveState({ client, name, ...given(options) }),
          () => trained.save(`scripted://${modelId}/weights/${name}`, true)
        ),
      saveWeightsForSampler: (name, options) =>
        submit(
          Call.SaveWeightsForSampler({ client, name, ...given(options) }),
          () => trained.save(`scripted://${modelId}/sampler_weights/${name}`, false)
        ),
      saveWeightsAndGetSamplingClient: snapshot,
      loadState: (path, { optimizer = false } = {}) =>
        submit(Call.LoadState({ client, path, optimizer }), () => trained.load(path, optimizer)),
      unload: Effect.gen(function*() {
        const pending = yield* submit(Call.Unload({ client }), () => Effect.void)
        yield* pending.await
        yield* queue.close("the training client was unloaded")
      })
    } satisfies TrainingClient
  }
)
