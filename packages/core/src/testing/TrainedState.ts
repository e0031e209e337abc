/** The state of a model being trained on a scripted backend. */
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as LossValue from "../backend/LossValue.ts"
import * as RequestRules from "../backend/RequestRules.ts"
import { type Reason, Rejected } from "../backend/TinkerError.ts"
import type { Checkpoint, ForwardBackwardOutput } from "../backend/TrainingClient.ts"
import type { AdamParams } from "../model/AdamParams.ts"
import type * as Datum from "../model/Datum.ts"
import type * as Machine from "./Machine.ts"
import * as Script from "./Script.ts"
import * as ToyModel from "./ToyModel.ts"

type AnyDatum = Datum.Datum<Datum.Kind>

interface State extends ToyModel.State {
  /** Optimizer steps so far, including those before the checkpoint. */
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
    const value = LossValue.evaluate(loss, datum.inputs, logprobsTK)
    const accumulated = ToyModel.accumulate(
      model,
      state,
      ToyModel.positions(datum.modelInput),
      datum.inputs.targetTokens,
      value.gradient
    )
    state = { ...state, ...accumulated }
    total += value.loss
    return logprobsTK
  })
  const output: ForwardBackwardOutput = { logprobs, metrics: { "loss:sum": total } }
  return { output, state }
}

/** A checkpoint that has an optimizer, so training can continue from it. */
export const loadState = (machine: Machine.Machine, path: string): Effect.Effect<Machine.Checkpoint, Reason> =>
  Effect.filterOrFail(
    machine.load(path),
    ({ optimizer }) => optimizer !== undefined,
    () => new Rejected({ detail: `path is ${path}, expected a checkpoint of saveState: it has no optimizer` })
  )

/** The operations on a model: passes, steps, saves and loads. Only successful operations change the state. */
export const make = Effect.fnUntraced(
  function*(machine: Machine.Machine, model: Machine.Model, origin: Machine.Checkpoint) {
    const state = yield* Ref.make(fromCheckpoint(origin))
    const current = Ref.get(state)

    const pass = Effect.fnUntraced(function*(call: Script.PassCall, at: Script.At) {
      yield* RequestRules.pass(call.data, call.loss, model)
      const { forwardBackward: scripted } = machine.script
      if (scripted !== undefined) return yield* Script.answer(scripted(call, at))
      const passed = toyPass(machine, model, yield* current, call)
      if (call._tag === "ForwardBackward") yield* Ref.set(state, passed.state)
      return passed.output
    })

    const optimStep = Effect.fnUntraced(function*(adam: AdamParams, at: Script.At) {
      yield* RequestRules.adam(adam)
      const stepped = ToyModel.step(model, yield* current, adam)
      const { optimStep: scripted } = machine.script
      const metrics = scripted === undefined ? stepped.metrics : yield* Script.answer(scripted(adam, at))
      yield* Ref.set(state, { ...stepped.state, step: at.step + 1 })
      return { metrics }
    })

    const save = Effect.fnUntraced(function*(path: string, withOptimizer: boolean) {
      const { optimizer, step, weights } = yield* current
      const { baseModel, loraRank } = origin
      const saved = { baseModel, loraRank, step, weights, optimizer: withOptimizer ? optimizer : undefined }
      yield* machine.save(path, saved)
      return { path } satisfies Checkpoint
    })

    const load = Effect.fnUntraced(function*(path: string, withOptimizer: boolean) {
      const checkpoint = yield* withOptimizer ? loadState(machine, path) : machine.load(path)
      yield* Ref.set(state, fromCheckpoint(withOptimizer ? checkpoint : { ...checkpoint, optimizer: undefined }))
    })

    return { current, pass, optimStep, save, load }
  }
)
