/** A run as spans of time: iterations, and in them sampling, groups, training, evaluations. Told from records as they come. */
import type { RunRecord } from "@effect-rl/core"
import { Key } from "@effect-rl/core/environments"
import * as Names from "./Names.ts"
import * as Period from "./Period.ts"

/** Who works: one lane of a timeline each. */
export type Lane = "sampling" | "training" | "evaluation" | "iteration" | "group" | "member"

export interface Span {
  /** Unique in a run. */
  readonly id: string
  /** The id of the outermost span around it, or its own. */
  readonly root: string
  /** The span that it is part of. */
  readonly parent: string | undefined
  readonly lane: Lane
  /** Index of the member, of spans inside of one. */
  readonly member?: number
  readonly name: string
  /** Milliseconds since 1970. */
  readonly start: number
  readonly end: number
  readonly attributes: Names.Attributes
  /** The error message of a failed span. */
  readonly error?: string
}

export const iterationId = (iteration: number) => `iteration ${iteration}`
export const evaluationId = (evaluator: string, iteration: number) => `evaluation ${iteration} ${evaluator}`
const samplingId = (iteration: number) => `sampling ${iteration}`

const rootOf = ({ evaluator, iteration }: Pick<RunRecord.GroupRolledOut, "evaluator" | "iteration">) =>
  evaluator === undefined ? iterationId(iteration) : evaluationId(evaluator, iteration)

/** The id of a group's parent span. */
export const parentOf = ({ evaluator, iteration }: Pick<RunRecord.GroupRolledOut, "evaluator" | "iteration">) =>
  evaluator === undefined ? samplingId(iteration) : evaluationId(evaluator, iteration)

/** The span of a group. */
export const group = (record: RunRecord.GroupRolledOut): Span => {
  const { failures, key, outcome } = record
  return {
    id: Key.ofGroup(record),
    root: rootOf(record),
    parent: parentOf(record),
    lane: "group",
    name: Names.group,
    ...Period.group(record),
    attributes: Names.groupAttributes(record),
    ...(outcome === "Skipped" ? { error: `${key} was skipped: ${failures[0]?.message ?? "no member finished"}` } : {})
  }
}

/** The sampling, update and evaluations under way. */
interface State {
  sampling?: RunRecord.Sampling
  credited?: RunRecord.Credited
  readonly evaluating: Map<string, RunRecord.Evaluating>
}

const trained = (state: State, updated: RunRecord.Updated): ReadonlyArray<Span> => {
  const { at, iteration } = updated
  const root = iterationId(iteration)
  const begun = state.sampling?.iteration === iteration ? state.sampling.at : at
  const credited = state.credited?.iteration === iteration ? state.credited.at : at
  const attributes = Names.iterationAttributes(updated)
  return [
    {
      id: samplingId(iteration),
      root,
      parent: root,
      lane: "sampling",
      name: Names.sampling,
      start: begun,
      end: credited,
      attributes
    },
    {
      id: `training ${iteration}`,
      root,
      parent: root,
      lane: "training",
      name: Names.training,
      start: credited,
      end: at,
      attributes: Names.updateAttributes(updated)
    },
    { id: root, root, parent: undefined, lane: "iteration", name: Names.iteration, start: begun, end: at, attributes }
  ]
}

const measured = (state: State, evaluated: RunRecord.Evaluated): ReadonlyArray<Span> => {
  const { at, evaluator, iteration, seconds } = evaluated
  const begun = state.evaluating.get(evaluator)
  const id = evaluationId(evaluator, iteration)
  return [{
    id,
    root: id,
    parent: undefined,
    lane: "evaluation",
    name: Names.evaluation,
    start: begun?.at ?? at - 1000 * seconds,
    end: at,
    attributes: Names.evaluationAttributes(evaluated)
  }]
}

/**
 * Gives, record by record, the spans that have ended with it; a span comes after those that are part of it.
 *
 * @example
 * const spansOf = RunSpans.make()
 * const spans = reader.read.pipe(Stream.flatMap((record) => Stream.fromIterable(spansOf(record))))
 */
export const make = (): (record: RunRecord.RunRecord) => ReadonlyArray<Span> => {
  const state: State = { evaluating: new Map() }
  return (record) => {
    switch (record._tag) {
      case "Sampling":
        state.sampling = record
        return []
      case "Credited":
        state.credited = record
        return []
      case "Evaluating":
        state.evaluating.set(record.evaluator, record)
        return []
      case "GroupRolledOut":
        return [group(record)]
      case "Updated":
        return trained(state, record)
      case "Evaluated":
        return measured(state, record)
      default:
        return []
    }
  }
}
