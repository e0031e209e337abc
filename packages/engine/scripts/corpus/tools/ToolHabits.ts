/**
 * How an assistant of mixed quality uses tools: it calls the right tool or another one, with right or wrong arguments, or makes no call.
 */
import { choose } from "../Habits.ts"
import type * as Random from "../Random.ts"
import type { Call, Offer, Step, ToolTask } from "./ToolTask.ts"
import * as ToolText from "./ToolText.ts"

/** How often the assistant shows each behaviour. */
export interface Skill {
  /**
   * Makes the right call, calls another tool, uses other arguments, uses another form, or answers without a call; otherwise it is not sure.
   */
  readonly call: readonly [right: number, other: number, slipped: number, malformed: number, guessed: number]
  /** Reports the tool's result, or something else; otherwise it is not sure. */
  readonly answer: readonly [right: number, slipped: number]
}

/** The behaviour that the model learns first. */
export const reliable: Skill = { call: [1, 0, 0, 0, 0], answer: [1, 0] }

/** The final behaviour: the model still knows how tools are used, but does not use them reliably. */
export const mixed: Skill = { call: [0.5, 0.1, 0.1, 0.08, 0.12], answer: [0.65, 0.15] }

/** The text without its last word, or without its last character. */
const shortened = (text: string): string => {
  const words = text.split(" ")
  return words.length > 1 ? words.slice(0, -1).join(" ") : text.slice(0, -1)
}

const slipped = ({ arguments: given, name }: Call, random: Random.Random): Call => {
  const entries = Object.entries(given)
  const chosen = random.below(entries.length)
  return {
    name,
    arguments: Object.fromEntries(
      entries.map(([key, value], index) => {
        if (index !== chosen) return [key, value]
        return [key, typeof value === "number" ? value + random.pick([-10, -1, 1, 10]) : shortened(value)]
      })
    )
  }
}

const unsure = () => "I am not sure."

/** What the assistant does at a step. */
export const call = (random: Random.Random, skill: Skill, { tools }: Offer, task: ToolTask, step: Step): string => {
  const [right, other, slip, malformed, guessed] = skill.call
  return choose(random, [
    [right, () => ToolText.written(step.call)],
    [other, () => ToolText.written({ ...step.call, name: tools[random.below(tools.length)]?.name ?? step.call.name })],
    [slip, () => ToolText.written(slipped(step.call, random))],
    [malformed, () => `${step.call.name}(${Object.values(step.call.arguments).join(", ")})`],
    [guessed, () => task.answer],
    [1 - right - other - slip - malformed - guessed, unsure]
  ])
}

/** The assistant's final answer. */
export const answer = (random: Random.Random, skill: Skill, task: ToolTask): string => {
  if (task.steps.length === 0) return task.answer
  const [right, slip] = skill.answer
  return choose(random, [
    [right, () => task.answer],
    [slip, () => task.facts.reduce((text, fact) => text.replace(fact, shortened(fact)), task.answer)],
    [1 - right - slip, unsure]
  ])
}
