/** Made-up word problems for a run that needs no download. */
import { Seed } from "@effect-rl/core"
import type * as Recipe from "../Recipe.ts"
import type { Problem } from "./Gsm8kRow.ts"
import type { Split } from "./Split.ts"

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

/** So many different ones. */
const problems = (count: number): ReadonlyArray<Problem> => {
  const next = Seed.uniform(8)
  const number = () => 2 + Math.floor(next() * 11)
  const found = new Map<string, Problem>()
  while (found.size < count) {
    const [story, name = "", thing = ""] = [pick(stories, next), pick(names, next), pick(things, next)]
    const problem = story?.(name, thing, number(), number(), number())
    if (problem !== undefined) found.set(problem.question, problem)
  }
  return [...found.values()]
}

const [trained, tested] = [96, 32]
const all = problems(trained + tested)

export const split: Split = { train: all.slice(0, trained), test: all.slice(trained) }

/** A run of a few minutes at most on problems that a tiny model cannot solve; SmolLM2 solves some. */
export const onEngine = (settings: Recipe.OnEngine["settings"]): Recipe.OnEngine => ({
  says:
    "a short run on effect-rl/tiny-128 shows how the recipe works; word problems are beyond this model, and it will not learn. " +
    "Name a model that can solve some of them with --model, such as smollm2",
  settings: {
    model: "effect-rl/tiny-128",
    iterations: 3,
    groupsPerBatch: 2,
    groupSize: 4,
    maxTokens: 64,
    evalEvery: 0,
    ...settings
  },
  withSmolLm2: { model: "smollm2", learningRate: 3e-4 }
})
