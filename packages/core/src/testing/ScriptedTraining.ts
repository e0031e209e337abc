/** The training client of a scripted backend. */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as CustomLoss from "../backend/CustomLoss.ts"
import * as RequestQueue from "../backend/RequestQueue.ts"
import * as RequestRules from "../backend/RequestRules.ts"
import { type Reason, Rejected } from "../backend/TinkerError.ts"
import type {
  Checkpoint,
  CustomLoss as CustomLossFunction,
  ForwardBackwardOutput,
  ModelInfo,
  SaveOptions,
  TrainingClient
} from "../backend/TrainingClient.ts"
import type { AdamParams } from "../model/AdamParams.ts"
import type * as Datum from "../model/Datum.ts"
import * as Loss from "../model/Loss.ts"
import { Call } from "./Call.ts"
import * as Machine from "./Machine.ts"
import * as Script from "./Script.ts"
import * as ScriptedSampling from "./ScriptedSampling.ts"
import * as ToyLoss from "./ToyLoss.ts"
import * as ToyModel from "./ToyModel.ts"

type AnyDatum = Datum.Datum<Datum.Kind>

/** What a client starts from. */
export interface Start {
  readonly modelId: string
  readonly model: Machine.Model
  readonly checkpoint: Machine.Checkpoint
}

interface State extends ToyModel.State {
  /** Optimizer steps, those before the checkpoint included. */
  readonly step: number
}

const fromCheckpoint = (checkpoint: Machine.Checkpoint): State => ({
  weights: checkpoint.weights,
  gradient: new Map(),
  optimizer: checkpoint.optimizer ?? ToyModel.noOptimizer,
  step: checkpoint.step
})

const logprobsOf = (machine: Machine.Machine, model: Machine.Model, state: State, { inputs, modelInput }: AnyDatum) =>
  machine.script.sample !== undefined && "logprobs" in inputs
    ? Float32Array.from(inputs.logprobs)
    : ToyModel.targetLogprobs(model, state.weights, ToyModel.positions(modelInput), inputs.targetTokens)

const toyPass = (machine: Machine.Machine, model: Machine.Model, start: State, { data, loss }: Script.PassCall) => {
  let state = start
  let total = 0
  const logprobs = data.map((datum) => {
    const logprobsTK = logprobsOf(machine, model, start, datum)
    const value = ToyLoss.evaluate(loss, datum.inputs, logprobsTK)
    const accumulated = ToyModel.accumulate(
      model,
      state,
      ToyModel.positions(datum.modelInput),
      datum.inputs.targetTokens,
      value.slopesTK
    )
    state = { ...state, ...accumulated }
    total += value.loss
    return logprobsTK
  })
  const output: ForwardBackwardOutput = { logprobs, metrics: { "loss:sum": total } }
  return { output, state }
}

const ttlOf = (options: SaveOptions | undefined) =>
  options?.ttl === undefined ? undefined : Duration.fromInputUnsafe(options.ttl)

/** Trains until the surrounding scope closes or the client is unloaded. */
export const make = Effect.fnUntraced(
  function*(machine: Machine.Machine, { checkpoint: origin, model, modelId }: Start) {
    const client = modelId
    const queue = yield* RequestQueue.make
    const current = yield* Ref.make(fromCheckpoint(origin))
    const info: ModelInfo = { modelId, baseModel: origin.baseModel, loraRank: origin.loraRank }

    const submitCall = Effect.fnUntraced(function*<A, E>(
      call: Call,
      run: (at: Script.At) => Effect.Effect<A, E>
    ) {
      const operation = Machine.portName(call._tag)
      const execute = Effect.gen(function*() {
        const at = { call: yield* machine.count(call._tag), step: (yield* Ref.get(current)).step }
        yield* Machine.failing(operation)(machine.disturb(call._tag, at.call))
        return yield* run(at)
      })
      const pending = yield* queue.submit(operation, execute, { isDecisive: call._tag === "ForwardBackwardCustom" })
      yield* machine.record(call)
      return pending
    })

    const submit = <A>(call: Call, run: (at: Script.At) => Effect.Effect<A, Reason>) =>
      submitCall(call, (at) => Machine.failing(Machine.portName(call._tag))(run(at)))

    const execute = Effect.fnUntraced(function*(call: Script.PassCall, at: Script.At) {
      yield* RequestRules.pass(call.data, call.loss, model)
      if (machine.script.forwardBackward !== undefined) {
        return yield* Script.answer(machine.script.forwardBackward(call, at))
      }
      const { output, state } = toyPass(machine, model, yield* Ref.get(current), call)
      if (call._tag === "ForwardBackward") yield* Ref.set(current, state)
      return output
    })

    const pass = (call: Script.PassCall) =>
      Effect.andThen(
        Machine.failing(Machine.portName(call._tag))(RequestRules.lossName(call.loss, model.capabilities)),
        submit(call, (at) => execute(call, at))
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
        const { logprobs } = yield* named(execute(Call.Forward({ client, data, loss }), at))
        const second = yield* CustomLoss.secondPass(data, customLoss, logprobs)
        const output = yield* named(execute(Call.ForwardBackward({ client, data: second.data, loss }), at))
        return second.report(output)
      })
      return yield* submitCall(call, (at) => Effect.provide(passes(at), context))
    })

    const optimStep = (adam: AdamParams) =>
      submit(
        Call.OptimStep({ client, adam }),
        Effect.fnUntraced(function*(at) {
          yield* RequestRules.adam(adam)
          const { metrics, state } = ToyModel.step(model, yield* Ref.get(current), adam)
          const { optimStep: scripted } = machine.script
          const reported = scripted === undefined ? metrics : yield* Script.answer(scripted(adam, at))
          yield* Ref.set(current, { ...state, step: at.step + 1 })
          return { metrics: reported }
        })
      )

    const save = Effect.fnUntraced(function*(path: string, optimizer: boolean) {
      const state = yield* Ref.get(current)
      const { baseModel, loraRank } = info
      yield* machine.save(path, {
        baseModel,
        loraRank,
        step: state.step,
        weights: state.weights,
        optimizer: optimizer ? state.optimizer : undefined
      })
      return { path } satisfies Checkpoint
    })

    const loadState = (path: string, optimizer: boolean) =>
      submit(
        Call.LoadState({ client, path, optimizer }),
        Effect.fnUntraced(function*() {
          const checkpoint = yield* machine.load(path)
          if (optimizer && checkpoint.optimizer === undefined) {
            return yield* new Rejected({
              detail: `path is ${path}, expected a checkpoint of saveState: it has no optimizer`
            })
          }
          yield* Ref.set(current, fromCheckpoint(optimizer ? checkpoint : { ...checkpoint, optimizer: undefined }))
        })
      )

    const snapshot = Effect.gen(function*() {
      const pending = yield* submit(Call.Snapshot({ client }), () => Ref.get(current))
      const { step, weights } = yield* pending.await
      const count = yield* machine.count("snapshot")
      const source = { modelPath: `scripted://${modelId}/snapshots/${count}`, model, weights, step }
      return yield* machine.track("SamplingClient", ScriptedSampling.make(machine, source))
    })

    return {
      info,
      forward: (data, loss) => pass(Call.Forward({ client, data, loss })),
      forwardBackward: (data, loss) => pass(Call.ForwardBackward({ client, data, loss })),
      forwardBackwardCustom,
      optimStep,
      saveState: (name, options) =>
        submit(
          Call.SaveState({ client, name, ttl: ttlOf(options) }),
          () => save(`scripted://${modelId}/weights/${name}`, true)
        ),
      saveWeightsForSampler: (name, options) =>
        submit(
          Call.SaveWeightsForSampler({ client, name, ttl: ttlOf(options) }),
          () => save(`scripted://${modelId}/sampler_weights/${name}`, false)
        ),
      saveWeightsAndGetSamplingClient: snapshot,
      loadState: (path, options) => loadState(path, options?.optimizer ?? false),
      unload: Effect.gen(function*() {
        const pending = yield* submit(Call.Unload({ client }), () => Effect.void)
        yield* pending.await
        yield* queue.close("the training client was unloaded")
      })
    } satisfies TrainingClient
  }
)
