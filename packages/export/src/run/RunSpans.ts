/**
 * A run as time spans: iterations that contain sampling, groups, training and evaluations. They are computed from records as they arrive.
 */
import type { RunRecord } from "@effect-rl/core"
import { Key } from "@effect-rl/core/environments"
import * as Names from "./Names.ts"
import * as Period from "./Period.ts"

/** The lane of a timeline on which a span is shown. */
export type Lane = "sampling" | "training" | "evaluation" | "iteration" | "group" | "member"

export interface Span {
  /** An id that is unique within the run. */
  readonly id: string
  /** The id of the outermost enclosing span, or the span's own id. */
  readonly root: string
  /** The id of the enclosing span. */
  readonly parent: string | undefined
  readonly lane: Lane
  /** The member's index, for spans inside a member. */
  readonly member?: number
  readonly name: string
  /** When the span started, in milliseconds since 1970. */
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

/** The id of the span that encloses a group. */
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

/**
 * Whether an instruction of a prompt optimization was validated on the group. No record evaluates such groups as a
 * whole.
 */
const isValidation = ({ evaluator, instructionDigest }: RunRecord.GroupRolledOut) =>
  evaluator !== undefined && instructionDigest !== undefined

/** The sampling, validation, update and evaluations in progress. */
interface State {
  sampling?: RunRecord.Sampling
  /** The groups on which an instruction is validated. */
  readonly validation: Array<RunRecord.GroupRolledOut>
  credited?: RunRecord.Credited
  readonly evaluating: Map<string, RunRecord.Evaluating>
}

/** The span of the validation in progress. It lasts from its first group to its last, because no record marks its ends. */
const validated = ({ validation }: State): ReadonlyArray<Span> => {
  const groups = validation.splice(0)
  return groups.slice(0, 1).map(({ evaluator = "", iteration }) => {
    const periods = groups.map(Period.group)
    const id = evaluationId(evaluator, iteration)
    return {
      id,
      root: id,
      parent: undefined,
      lane: "evaluation",
      name: Names.evaluation,
      start: periods.reduce((first, { start }) => Math.min(first, start), Infinity),
      end: periods.reduce((last, { end }) => Math.max(last, end), -Infinity),
      attributes: Names.evaluationAttributes({ evaluator, iteration })
    }
  })
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
 * Makes a function that receives the records in order and returns the spans that ended with each. A span follows the spans that it
 * encloses.
 *
 * @example
 * const spansOf = RunSpans.make()
 * const spans = reader.read.pipe(Stream.flatMap((record) => Stream.fromIterable(spansOf(record))))
 */
export const make = (): (record: RunRecord.RunRecord) => ReadonlyArray<Span> => {
  const state: State = { evaluating: new Map(), validation: [] }
  return (record) => {
    switch (record._tag) {
      case "Opened":
        state.validation.length = 0
        return []
      case "Sampling":
        // A proposal adds groups to a sampling phase that has already begun.
        if (record.proposal === undefined) state.sampling = record
        return validated(state)
      case "Credited":
        state.credited = record
        return []
      case "Evaluating":
        state.evaluating.set(record.evaluator, record)
        return []
      case "GroupRolledOut":
        if (isValidation(record)) state.validation.push(record)
        return [group(record)]
      case "Updated":
        return [...validated(state), ...trained(state, record)]
      case "Evaluated":
        return measured(state, record)
      default:
        return []
    }
  }
}
