/** A test backend that answers as scripted and records its calls; anything not scripted is trained and sampled with a toy model. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as RequestRules from "../backend/RequestRules.ts"
import { type LoraOptions, Tinker } from "../backend/Tinker.ts"
import { Call, CallLog, type Operation } from "./Call.ts"
import { LeakAudit } from "./LeakAudit.ts"
import * as Machine from "./Machine.ts"
import * as Script from "./Script.ts"
import * as ScriptedSampling from "./ScriptedSampling.ts"
import * as ScriptedTraining from "./ScriptedTraining.ts"
import { noOptimizer } from "./ToyModel.ts"
import * as TrainedState from "./TrainedState.ts"

const metadataOf = ({ userMetadata }: Pick<LoraOptions, "userMetadata"> = {}) =>
  userMetadata === undefined ? {} : { userMetadata }

const makeTinker = Effect.fnUntraced(function*(script: Script.Script) {
  const machine = yield* Machine.make(script)

  const begin = Effect.fnUntraced(function*(call: Call, operation: Operation) {
    yield* machine.record(call)
    yield* machine.disturb(operation, yield* machine.count(operation))
  })
  const nextModelId = Effect.map(machine.count("client"), (count) => `model-${count}`)
  const train = (start: ScriptedTraining.Start) =>
    machine.track("TrainingClient", ScriptedTraining.make(machine, start))
  const sampled = Effect.fnUntraced(function*(from: { readonly baseModel: string } | { readonly modelPath: string }) {
    if ("baseModel" in from) {
      return { modelPath: from.baseModel, model: yield* machine.model(from.baseModel), weights: new Map(), step: 0 }
    }
    const { baseModel, step, weights } = yield* machine.load(from.modelPath)
    return { modelPath: from.modelPath, model: yield* machine.model(baseModel), weights, step }
  })

  return Tinker.of({
    health: Machine.failing("health")(Script.answer(script.health)),
    models: Effect.succeed(machine.models),
    capabilities: Effect.fnUntraced(function*(name) {
      return (yield* machine.model(name)).capabilities
    }, Machine.failing("capabilities")),
    createLoraTrainingClient: Effect.fnUntraced(function*({ baseModel, loraRank = 32, ...options }: LoraOptions) {
      const model = yield* machine.model(baseModel)
      yield* RequestRules.loraRank(loraRank, model.capabilities)
      const modelId = yield* nextModelId
      const call = Call.CreateTrainingClient({ client: modelId, baseModel, loraRank, ...metadataOf(options) })
      yield* begin(call, "CreateTrainingClient")
      const checkpoint = { baseModel, loraRank, step: 0, weights: new Map(), optimizer: noOptimizer }
      return yield* train({ modelId, model, checkpoint })
    }, Machine.failing("createLoraTrainingClient")),
    createTrainingClientFromState: Effect.fnUntraced(function*(path, options) {
      const checkpoint = yield* TrainedState.loadState(machine, path)
      const model = yield* machine.model(checkpoint.baseModel)
      const modelId = yield* nextModelId
      const call = Call.CreateTrainingClientFromState({ client: modelId, path, ...metadataOf(options) })
      yield* begin(call, "CreateTrainingClientFromState")
      return yield* train({ modelId, model, checkpoint })
    }, Machine.failing("createTrainingClientFromState")),
    createSamplingClient: Effect.fnUntraced(function*(from) {
      const source = yield* sampled(from)
      yield* begin(Call.CreateSamplingClient({ modelPath: source.modelPath }), "CreateSamplingClient")
      return yield* machine.track("SamplingClient", ScriptedSampling.make(machine, source))
    }, Machine.failing("createSamplingClient"))
  })
})

/** The backend's answers and faults; all are optional. */
export interface Options extends Script.Script {}

/** Provides the backend, the log of its calls, and the counts of its clients (`TrainingClient`, `SamplingClient`). */
export const layer = (script: Options = {}): Layer.Layer<Tinker | CallLog | LeakAudit> =>
  Layer.effect(Tinker, makeTinker(script)).pipe(
    Layer.provideMerge(Layer.fresh(Layer.merge(CallLog.layer, LeakAudit.layer)))
  )
