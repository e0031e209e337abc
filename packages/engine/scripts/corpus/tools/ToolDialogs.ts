/** Conversations with tools, by an assistant of a given skill. */
import type * as Random from "../Random.ts"
import * as ToolHabits from "./ToolHabits.ts"
import type { Offer, ToolTask } from "./ToolTask.ts"
import * as ToolText from "./ToolText.ts"
import * as Values from "./Values.ts"
import type { Lexicon } from "./Words.ts"

/** A piece of text, and whether the assistant should learn to say it. */
export interface Piece {
  readonly text: string
  readonly learned: boolean
}

const prompt = (text: string): Piece => ({ text, learned: false })

const said = (text: string): Piece => ({ text: `${text}<|im_end|>`, learned: true })

export const instructions = (random: Random.Random, lexicon: Lexicon): string => {
  if (random.uniform() < 0.5) return ""
  const name = Values.name(random, lexicon)
  return random.pick([
    "You are a helpful assistant.",
    "You are a helpful assistant with tools.",
    "You answer questions by the tools that you have.",
    `You are the assistant of ${name}.`,
    `You are an agent of ${name}. Use the tools to answer.`,
    "Use the tools. Answer in one short sentence.",
    `You help the ${
      random.pick(["customers", "users", "guests", "people"])
    } of ${name}. Call a tool where you need one.`
  ])
}

/** The messages of one task, up to its end or the assistant's first mistake. */
const turns = (random: Random.Random, offer: Offer, task: ToolTask, skill: ToolHabits.Skill): ReadonlyArray<Piece> => {
  const pieces: Array<Piece> = [prompt(ToolText.asked(task.request))]
  for (const step of task.steps) {
    const call = ToolHabits.call(random, skill, offer, task, step)
    pieces.push(said(call))
    if (call !== ToolText.written(step.call)) return pieces
    pieces.push(prompt(ToolText.told(step.result)))
  }
  return [...pieces, said(ToolHabits.answer(random, skill, task))]
}

/** A conversation of `count` tasks with the same tools. */
export const conversation = (
  random: Random.Random,
  lexicon: Lexicon,
  offer: Offer,
  skill: ToolHabits.Skill,
  tasks: number
): ReadonlyArray<Piece> => [
  prompt(ToolText.system(offer.tools, instructions(random, lexicon))),
  ...Array.from({ length: tasks }, () => turns(random, offer, offer.task(), skill)).flat()
]
