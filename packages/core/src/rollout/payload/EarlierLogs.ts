/**
 * Converts groups of formats up to 3 to the current form. These formats kept the task and the answer in the logs of turns, and correctness
 * as a metric.
 */
import type { Trajectory, Transition } from "../../env/Trajectory.ts"

const names = { question: "question", answer: "response", reference: "reference" }

const text = ({ logs }: Transition, name: string) => Object.hasOwn(logs, name) ? String(logs[name]) : undefined

const typedTurn = (turn: Transition): Transition => {
  const { [names.question]: _, [names.answer]: answer, [names.reference]: __, ...logs } = turn.logs
  const correct = Object.hasOwn(turn.metrics, "correct") ? turn.metrics["correct"] : undefined
  if (answer === undefined && correct?.kind !== "rate") return { ...turn, logs }
  const score = {
    value: turn.reward,
    ...(correct?.kind === "rate" ? { success: correct.hit } : {}),
    ...(answer === undefined ? {} : { answer: String(answer) })
  }
  return { ...turn, score, logs }
}

/** Moves the task and the scores of a trajectory from its logs to their fields. */
export const typed = (trajectory: Trajectory): Trajectory => {
  const { transitions } = trajectory
  const found = (name: string) => transitions.map((turn) => text(turn, name)).findLast((value) => value !== undefined)
  const question = found(names.question)
  const reference = found(names.reference)
  return {
    ...trajectory,
    transitions: transitions.map(typedTurn),
    ...(question === undefined && reference === undefined ? {} : {
      task: { ...(question !== undefined && { question }), ...(reference !== undefined && { reference }) }
    })
  }
}
