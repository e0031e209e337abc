/** A run's current activity, as text. */
import * as Story from "@effect-rl/core/story/Story"
import type * as Entry from "./Entry.ts"

const reasons = {
  completed: "completed",
  max_tokens_total: "stopped at its token limit",
  max_dollars: "stopped at its dollar limit",
  max_minutes: "stopped at its time limit",
  max_judge_calls: "stopped at its judge-call limit",
  interrupted: "interrupted"
}

const sampling = (story: Story.Story<null>, index: number) =>
  `sampling iteration ${index + 1}: ${Story.iteration(story, index).groups.length} of ${story.asked} groups`

const doing = (story: Story.Story<null>, entry: Entry.Entry): string => {
  switch (entry._tag) {
    case "Opened":
      return "starting"
    case "Sampling":
      return sampling(story, entry.iteration)
    case "GroupRolledOut": {
      const { evaluator, iteration: index } = entry
      if (evaluator !== undefined) {
        return `evaluating ${evaluator}: ${Story.evaluation(story, evaluator, index).groups.length} groups`
      }
      return sampling(story, index)
    }
    case "Credited":
      return `training on iteration ${entry.iteration + 1}`
    case "Evaluating":
      return `evaluating ${entry.evaluator}`
    case "Updated":
      return `continuing after iteration ${entry.iteration + 1}`
    case "Evaluated":
      return `continuing after the evaluation ${entry.evaluator}`
    case "Saved":
      return `continuing after checkpoint ${entry.name}`
    case "Warning":
      return "running"
    case "Finished":
      return reasons[entry.reason]
    case "Failed":
      return `failed: ${entry.error}`
  }
}

/** Milliseconds without a record after which an unfinished run may have been killed. */
const longSilence = 300_000

/**
 * What the run is doing at the time `now`, or how it ended. `isWritten` says whether a process holds the run open. An unfinished run that
 * no process holds was killed.
 *
 * @example
 * const doing = (story: Story.Story<null>) => Status.of(story, Date.now())
 */
export const of = (story: Story.Story<null>, now: number, isWritten = true): string => {
  const { end, last } = story
  if (last === undefined) return "no records yet"
  if (end !== undefined) return doing(story, end)
  const text = doing(story, last)
  if (!isWritten) return `killed while ${text}`
  const minutes = Math.floor((now - last.at) / 60_000)
  return now - last.at > longSilence ? `${text}; no record for ${minutes} min` : text
}
