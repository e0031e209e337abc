/** Measures how well a model adds unseen pairs of numbers. */
import type { Tokenizer } from "@effect-rl/core/renderers"
import type { Compute } from "@effect-rl/engine/model/Compute"
import { heldOutPairs } from "@effect-rl/recipes/arithmetic/Sums"
import * as Addition from "../corpus/Addition.ts"
import * as Documents from "../corpus/Documents.ts"
import * as Random from "../corpus/Random.ts"
import * as Generate from "./Generate.ts"

export interface Report {
  readonly samples: number
  /** Share of right answers to the boxed question at temperature 1. */
  readonly correct: number
  readonly boxed: number
  /** Share of answers that work step by step, and the share of those that are right. */
  readonly worked: number
  readonly workedCorrect: number
  /** Share of right answers among those that box a number immediately. */
  readonly guessCorrect: number
  readonly responseTokens: number
  /** Share of right answers to the plain question after one example. */
  readonly plainCorrect: number
}

const answers = (compute: Compute, tokenizer: Tokenizer.Tokenizer, prompts: ReadonlyArray<string>) => {
  const stop = tokenizer.specialToken("<|im_end|>") ?? -1
  const { uniform } = Random.make(7)
  const piece = 64
  return Array.from({ length: Math.ceil(prompts.length / piece) }, (_, i) => prompts.slice(i * piece, (i + 1) * piece))
    .flatMap((some) =>
      Generate.generate(compute, some.map((text) => tokenizer.encode(text)), { stop, uniform, maxTokens: 40 })
    )
    .map((tokens) => ({ tokens: tokens.length, text: tokenizer.decode(tokens).replace("<|im_end|>", "") }))
}

const share = <A>(all: ReadonlyArray<A>, is: (a: A) => boolean): number =>
  all.length === 0 ? 0 : all.filter(is).length / all.length

/** Samples `perPair` answers to every held-out pair, alternating the order of the operands. */
export const run = (compute: Compute, tokenizer: Tokenizer.Tokenizer, perPair: number): Report => {
  const pairs = Array.from({ length: perPair }, (_, k) => heldOutPairs.map(([a, b]) => k % 2 === 0 ? [a, b] : [b, a]))
    .flat()
  const ask = (question: (a: number, b: number) => string, before: string) =>
    answers(compute, tokenizer, pairs.map(([a = 0, b = 0]) => before + Documents.prompt(question(a, b))))
      .map((answer, i) => ({ ...answer, sum: (pairs[i] ?? []).reduce((x, y) => x + y, 0) }))
  const boxed = ask(Addition.boxedQuestion, "").map(({ sum, text, tokens }) => {
    const box = /\\boxed\{([^}]*)\}/.exec(text)?.[1]
    return { tokens, boxed: box !== undefined, correct: box === String(sum), worked: text.includes("=") }
  })
  const example = `${Documents.prompt(Addition.plainQuestion(4, 5))}9<|im_end|>\n`
  const worked = boxed.filter((answer) => answer.worked)
  const guessed = boxed.filter((answer) => answer.boxed && !answer.worked)
  return {
    samples: boxed.length,
    correct: share(boxed, (answer) => answer.correct),
    boxed: share(boxed, (answer) => answer.boxed),
    worked: worked.length / boxed.length,
    workedCorrect: share(worked, (answer) => answer.correct),
    guessCorrect: share(guessed, (answer) => answer.correct),
    responseTokens: boxed.reduce((sum, answer) => sum + answer.tokens, 0) / boxed.length,
    plainCorrect: share(ask(Addition.plainQuestion, example), ({ sum, text }) => text === String(sum))
  }
}
