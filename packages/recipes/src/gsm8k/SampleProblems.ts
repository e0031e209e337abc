/** Generated word problems for a run that needs no download. */
import type { Problem } from "./Gsm8kRow.ts"
import * as Split from "./Split.ts"

const names = ["Mia", "Tom", "Lena", "Omar", "Ruth", "Ivan"]
const things = ["apples", "books", "coins", "shells", "cards", "pens"]

type Story = (name: string, things: string, a: number, b: number, c: number) => Problem

const stories: ReadonlyArray<Story> = [
  (name, things, a, b, c) => ({
    question: `${name} has ${
      a + c
    } ${things}, gives ${c} away and finds ${b} more. How many ${things} does ${name} have now?`,
    answer: String(a + b)
  }),
  (name, things, a, b, c) => ({
    question: `${name} fills ${b} boxes with ${a} ${things} each and has ${c} left over. How many ${things} are there?`,
    answer: String(a * b + c)
  }),
  (name, things, a, b, c) => ({
    question: `${name} buys ${a} ${things} at ${b} dollars each and pays with ${a * b + c} dollars. ` +
      `How many dollars does ${name} get back?`,
    answer: String(c)
  })
]

const pick = <A>(choices: ReadonlyArray<A>, next: () => number) => choices[Math.floor(next() * choices.length)]

export const split: Split.Split = Split.drawn((next) => {
  const number = () => 2 + Math.floor(next() * 11)
  const [story, name = "", thing = ""] = [pick(stories, next), pick(names, next), pick(things, next)]
  return story?.(name, thing, number(), number(), number())
})
