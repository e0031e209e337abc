/** Computes one micro-batch: its targets' log-probabilities, its loss and, on request, its gradient. */
import type { Loss } from "@effect-rl/core"
import type { Datum } from "@effect-rl/core/backend"
import * as LossValue from "@effect-rl/core/backend/LossValue"
import type { LossGraph } from "@effect-rl/core/losses"
import * as LossProgram from "@effect-rl/core/losses/LossProgram"
import * as Record from "effect/Record"
import * as Result from "effect/Result"
import type { PackedAdapter } from "../model/Adapter.ts"
import type { Compute } from "../model/Compute.ts"
import * as Pass from "../model/Pass.ts"
import * as Memory from "../numerics/Memory.ts"
import * as Joined from "./Joined.ts"
import * as PostedItems from "./PostedItems.ts"
import type { GraphInputs, Item, Logprobs, PassLoss, TaskOutput } from "./Protocol.ts"

/** A pass that a task requests. */
export interface Order {
  readonly adapter: PackedAdapter
  readonly items: PostedItems.PostedItems
  readonly loss: PassLoss
  readonly logprobs: Logprobs
  /** The block that the gradient overwrites; undefined for a forward pass alone. */
  readonly gradients: Memory.Address | undefined
}

interface TrainingPass extends Omit<Order, "items"> {
  readonly items: ReadonlyArray<Item>
}

/** 1 for each token with a nonzero number, otherwise 0. */
const whereAny = (numbers: Float32Array, tokens: number): Uint8Array => {
  const found = new Uint8Array(tokens)
  const perToken = numbers.length / tokens
  for (let i = 0; i < numbers.length; i++) if (numbers[i] !== 0) found[Math.floor(i / perToken)] = 1
  return found
}

/** Marks the tokens whose log-probabilities the loss reads. */
const countedBy = ({ inputs, kind, tokens }: Item): Uint8Array =>
  kind === "Graph" ? inputs.counted : whereAny(kind === "PolicyTokens" ? inputs.mask : inputs.weights, tokens.length)

/** Marks the counted tokens at which the loss may have a gradient. */
const learnedBy = ({ name }: PassLoss, item: Item, counted: Uint8Array): Uint8Array => {
  if (item.kind !== "PolicyTokens") return counted
  const { advantages } = item.inputs
  return counted.map((value, t) => value === 1 && LossValue.counts(name, advantages[t] ?? 0) ? 1 : 0)
}

const toExample = ({ logprobs, loss }: TrainingPass, item: Item): Pass.Example => {
  const { inputs: { targetTokens: targets }, tokens } = item
  const example = { tokens, targets, candidates: targets.length / tokens.length }
  const counted = countedBy(item)
  const learned = learnedBy(loss, item, counted)
  const isAllRead = logprobs === "all" && item.kind !== "Graph"
  return isAllRead ? { ...example, learned } : { ...example, learned, read: counted }
}

interface Evaluated extends Pass.ExampleLoss {
  /** Why the loss graph has no gradient for this datum; absent if it has one. */
  readonly refusal?: string
  /** The loss graph's metrics. */
  readonly metrics?: Readonly<Record<string, number>>
}

const refused = (logprobs: Float32Array, refusal: string): Evaluated => ({
  loss: NaN,
  gradient: new Float32Array(logprobs.length),
  refusal
})

/** Compiled graphs by their JSON, least recently used first. */
const compiledGraphs = new Map<string, ReturnType<typeof LossProgram.compile>>()
const mostGraphs = 16

const parse = (json: string) => {
  const graph: LossGraph.LossGraph = JSON.parse(json)
  return LossProgram.compile(graph)
}

const compile = (json: string) => {
  const compiled = compiledGraphs.get(json) ?? parse(json)
  compiledGraphs.delete(json)
  compiledGraphs.set(json, compiled)
  for (const unused of compiledGraphs.keys()) {
    if (compiledGraphs.size <= mostGraphs) break
    compiledGraphs.delete(unused)
  }
  return compiled
}

/** The value that replaces log-probabilities that a graph does not read, the same as in the check of the graph's data. */
const likely = -1

/** The log-probabilities by datum, with unread ones replaced. */
const present = (inputsI: ReadonlyArray<GraphInputs>, logprobsI: ReadonlyArray<Float32Array>) => {
  const joined = Joined.floats(logprobsI)
  const counted = Joined.bytes(inputsI.map((inputs) => inputs.counted))
  for (let at = 0; at < joined.values.length; at++) if (counted.values[at] === 0) joined.values[at] = likely
  return Joined.part(joined)
}

const vector = (data: Float32Array) => ({ data, shape: [data.length] })

/** A graph's inputs for one datum. */
const graphInputs = ({ values }: GraphInputs, logprobs: Float32Array) => {
  const given: Record<string, LossProgram.Values> = { logprobs: vector(logprobs) }
  for (const [name, one] of Object.entries(values)) given[name] = one instanceof Float32Array ? vector(one) : one
  return given
}

const trained = (evaluation: LossProgram.Evaluation, { counted }: GraphInputs, logprobs: Float32Array): Evaluated => {
  const problem = LossProgram.problem(evaluation)
  if (problem !== undefined) return refused(logprobs, problem)
  const { gradient, loss, metrics } = evaluation
  for (let t = 0; t < gradient.length; t++) {
    if (gradient[t] !== 0 && counted[t] === 0) {
      return refused(logprobs, `the loss depends on token ${t}, where counted is 0`)
    }
  }
  return { loss, gradient, metrics }
}

/** Evaluates a graph's losses for all data at once. */
const graphLosses = (
  graph: string,
  inputsI: ReadonlyArray<GraphInputs>,
  logprobsI: ReadonlyArray<Float32Array>
): ReadonlyArray<Evaluated> => {
  const compiled = compile(graph)
  if (Result.isFailure(compiled)) return logprobsI.map((logprobs) => refused(logprobs, compiled.failure.message))
  const presentAt = present(inputsI, logprobsI)
  const data = inputsI.map((inputs, index) => graphInputs(inputs, presentAt(index)))
  const evaluated = LossProgram.evaluateAll(compiled.success, data)
  if (Result.isFailure(evaluated)) return logprobsI.map((logprobs) => refused(logprobs, evaluated.failure.message))
  return evaluated.success.map((evaluation, index) => {
    const inputs = inputsI[index]
    if (inputs === undefined) throw new RangeError(`a graph of ${inputsI.length} data has no datum ${index}`)
    return trained(evaluation, inputs, logprobsI[index] ?? new Float32Array())
  })
}

const namedLoss = (loss: Loss.Loss<Datum.Kind>, { inputs, kind }: Item, logprobs: Float32Array) => {
  if (kind === "Graph") throw new TypeError(`${loss.name} is not a loss graph`)
  return LossValue.evaluate(loss, inputs, logprobs)
}

const graphOf = (item: Item): GraphInputs => {
  if (item.kind !== "Graph") throw new TypeError(`a datum of kind ${item.kind} is not for a loss graph`)
  return item.inputs
}

/** Computes the losses of all data of a pass from their log-probabilities. */
export const losses = (
  { items, loss }: Pick<TrainingPass, "items" | "loss">,
  logprobsI: ReadonlyArray<Float32Array>
): ReadonlyArray<Evaluated> =>
  loss.name === "graph"
    ? graphLosses(loss.graph, items.map(graphOf), logprobsI)
    : items.map((item, index) => namedLoss(loss, item, logprobsI[index] ?? new Float32Array()))

interface Trained extends Pass.Trained {
  readonly evaluations: ReadonlyArray<Evaluated>
}

const forward = (compute: Compute, pass: TrainingPass): Trained => {
  const { adapter, items } = pass
  const logprobs = Pass.forward(compute, items.map((item) => toExample(pass, item)), adapter)
  return { logprobs, loss: losses(pass, logprobs).reduce((sum, { loss }) => sum + loss, 0), evaluations: [] }
}

const forwardBackward = (compute: Compute, pass: TrainingPass, block: Memory.Address): Trained => {
  const { adapter, items } = pass
  let evaluations: ReadonlyArray<Evaluated> = []
  Memory.floats(compute.memory, block, adapter.layout.parameterFloats).fill(0)
  const lossOf: Pass.LossOf = (_, index, logprobsI) => {
    if (index === 0) evaluations = losses(pass, logprobsI)
    const evaluated = evaluations[index]
    if (evaluated === undefined) throw new RangeError(`a pass over ${items.length} data has no datum ${index}`)
    return evaluated
  }
  const gradients = { adapter: { packed: adapter, block } }
  const examples = items.map((item) => toExample(pass, item))
  return { ...Pass.forwardBackward(compute, examples, gradients, lossOf), evaluations }
}

/** Collects a loss graph's refusal and metrics. */
const graphOutput = (evaluations: ReadonlyArray<Evaluated>): Pick<TaskOutput, "refusal" | "graphMetrics"> => {
  const refusal = evaluations.find((one) => one.refusal !== undefined)?.refusal
  const graphMetrics = evaluations.flatMap(({ metrics = {} }) => Record.isEmptyRecord(metrics) ? [] : [metrics])
  return { ...(refusal === undefined ? {} : { refusal }), ...(graphMetrics.length === 0 ? {} : { graphMetrics }) }
}

export const run = (compute: Compute, order: Order): TaskOutput => {
  const pass = { ...order, items: PostedItems.unpack(order.items) }
  const { evaluations, logprobs, loss } = pass.gradients === undefined
    ? forward(compute, pass)
    : forwardBackward(compute, pass, pass.gradients)
  return {
    logprobs: Joined.floats(logprobs),
    metrics: { "loss:sum": loss },
    ...graphOutput(evaluations)
  }
}
