/** One micro-batch: log-probabilities of its targets, its loss and, where asked for, its gradient. */
import type { Datum, Loss, LossGraph } from "@effect-rl/core"
import * as Interpreter from "@effect-rl/core/model/graph/Interpreter"
import * as Result from "effect/Result"
import type { PackedAdapter } from "../model/Adapter.ts"
import type { Compute } from "../model/Compute.ts"
import * as Losses from "../model/Loss.ts"
import * as Pass from "../model/Pass.ts"
import * as Memory from "../numerics/Memory.ts"
import type { GraphInputs, Item, Logprobs, PassLoss, TaskOutput } from "./Protocol.ts"

export interface TrainingPass {
  readonly adapter: PackedAdapter
  readonly items: ReadonlyArray<Item>
  readonly loss: PassLoss
  readonly logprobs: Logprobs
  /** Block that is overwritten with the gradient. */
  readonly gradients: Memory.Address | undefined
}

/** Where a loss reads log-probabilities; everywhere for a graph whose data do not say it. */
const countedBy = (item: Item): Uint8Array | undefined => {
  if (item.kind === "Graph") return item.inputs.counted
  if (item.kind === "PolicyTokens") return Uint8Array.from(item.inputs.mask, (value) => value === 0 ? 0 : 1)
  const { inputs: { weights }, tokens } = item
  const candidates = weights.length / tokens.length
  return Uint8Array.from(
    tokens,
    (_, t) => weights.subarray(t * candidates, (t + 1) * candidates).some((weight) => weight !== 0) ? 1 : 0
  )
}

/** Where of these it may have a gradient. */
const learnedBy = ({ name }: PassLoss, item: Item, counted: Uint8Array): Uint8Array => {
  if (item.kind !== "PolicyTokens") return counted
  const { advantages } = item.inputs
  return counted.map((value, t) => value === 1 && Losses.counts(name, advantages[t] ?? 0) ? 1 : 0)
}

const toExample = ({ logprobs, loss }: TrainingPass, item: Item): Pass.Example => {
  const { inputs: { targetTokens: targets }, tokens } = item
  const example = { tokens, targets, candidates: targets.length / tokens.length }
  const counted = countedBy(item)
  if (counted === undefined) return example
  const learned = learnedBy(loss, item, counted)
  const isAllRead = logprobs === "all" && item.kind !== "Graph"
  return isAllRead ? { ...example, learned } : { ...example, learned, read: counted }
}

interface Evaluated extends Losses.Result {
  /** Why a loss graph has no gradient here. */
  readonly refusal?: string
  /** What a loss graph measures besides. */
  readonly metrics?: Readonly<Record<string, number>>
}

const refused = (logprobs: Float32Array, refusal: string): Evaluated => ({
  loss: NaN,
  gradient: new Float32Array(logprobs.length),
  refusal
})

const compiledGraphs = new WeakMap<LossGraph.LossGraph, ReturnType<typeof Interpreter.compile>>()

/** A graph is compiled once for all data of a micro-batch. */
const compile = (graph: LossGraph.LossGraph) => {
  const compiled = compiledGraphs.get(graph) ?? Interpreter.compile(graph)
  compiledGraphs.set(graph, compiled)
  return compiled
}

/** Stands for the log-probabilities that a graph does not depend on, as in the check of its data. */
const likely = -1

const graphLoss = (
  graph: LossGraph.LossGraph,
  { counted, values }: GraphInputs,
  logprobs: Float32Array
): Evaluated => {
  const present = counted === undefined ? logprobs : logprobs.map((value, t) => counted[t] === 0 ? likely : value)
  const inputs = { ...values, logprobs: { data: present, shape: [present.length] } }
  const evaluated = Result.flatMap(compile(graph), (compiled) => Interpreter.evaluate(compiled, inputs))
  if (Result.isFailure(evaluated)) return refused(logprobs, evaluated.failure.message)
  const problem = Interpreter.problem(evaluated.success)
  if (problem !== undefined) return refused(logprobs, problem)
  const { gradient, loss, metrics } = evaluated.success
  const uncounted = gradient.findIndex((slope, t) => slope !== 0 && counted?.[t] === 0)
  if (uncounted >= 0) return refused(logprobs, `the loss depends on token ${uncounted}, where counted is 0`)
  return { loss, gradient: Float32Array.from(gradient), metrics }
}

const namedLoss = ({ config, name }: Loss.Loss<Datum.Kind>, item: Item, logprobs: Float32Array): Losses.Result => {
  if (item.kind === "Graph") throw new TypeError(`${name} is not a loss graph`)
  if (item.kind !== "PolicyTokens") return Losses.crossEntropy(logprobs, item.inputs)
  if (name === "cross_entropy") throw new TypeError("cross_entropy reads weights, the datum has advantages")
  if (name === "stable_reinforce") throw new TypeError("stable_reinforce is refused before it is queued")
  return Losses.policy(name, config, logprobs, item.inputs)
}

const lossOf = (loss: PassLoss, item: Item, logprobs: Float32Array): Evaluated => {
  if (loss.name !== "graph") return namedLoss(loss, item, logprobs)
  if (item.kind !== "Graph") throw new TypeError(`a datum of kind ${item.kind} is not for a loss graph`)
  return graphLoss(loss.graph, item.inputs, logprobs)
}

interface Trained extends Pass.Trained {
  readonly evaluations: ReadonlyArray<Evaluated>
}

const forward = (compute: Compute, pass: TrainingPass): Trained => {
  const { adapter, items, loss } = pass
  const logprobs = Pass.forward(compute, items.map((item) => toExample(pass, item)), adapter)
  const sum = items.reduce(
    (sum, item, index) => sum + lossOf(loss, item, logprobs[index] ?? new Float32Array()).loss,
    0
  )
  return { logprobs, loss: sum, evaluations: [] }
}

const forwardBackward = (compute: Compute, pass: TrainingPass, block: Memory.Address): Trained => {
  const { adapter, items, loss } = pass
  const evaluations: Array<Evaluated> = []
  Memory.floats(compute.memory, block, adapter.layout.parameterFloats).fill(0)
  const lossOfExample = (logprobs: Float32Array, index: number) => {
    const item = items[index]
    if (item === undefined) throw new RangeError(`a pass over ${items.length} data has no ${index}`)
    const evaluated = lossOf(loss, item, logprobs)
    evaluations.push(evaluated)
    return evaluated
  }
  const gradients = { adapter: { packed: adapter, block } }
  const examples = items.map((item) => toExample(pass, item))
  return { ...Pass.forwardBackward(compute, examples, gradients, lossOfExample), evaluations }
}

/** What a loss graph says of its data beyond the loss. */
const graphOutput = (evaluations: ReadonlyArray<Evaluated>): Pick<TaskOutput, "refusal" | "graphMetrics"> => {
  const refusal = evaluations.find((one) => one.refusal !== undefined)?.refusal
  const graphMetrics = evaluations.flatMap(({ metrics }) => metrics === undefined ? [] : [metrics])
  return { ...(refusal === undefined ? {} : { refusal }), ...(graphMetrics.length === 0 ? {} : { graphMetrics }) }
}

export const run = (compute: Compute, pass: TrainingPass): TaskOutput => {
  const { evaluations, logprobs, loss } = pass.gradients === undefined
    ? forward(compute, pass)
    : forwardBackward(compute, pass, pass.gradients)
  return {
    logprobs: pass.items.map((_, index) => logprobs[index] ?? new Float32Array()),
    metrics: { "loss:sum": loss },
    ...graphOutput(evaluations)
  }
}
