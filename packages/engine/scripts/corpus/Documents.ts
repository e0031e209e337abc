/** Conversations as token sequences with the weight of each token in the pretraining loss. */
import * as Addition from "./Addition.ts"
import type * as Random from "./Random.ts"

export interface Document {
  readonly tokens: Int32Array
  readonly weights: Float32Array
}

/** The length of the longest document, and so the longest context that the model has seen. */
export const contextLength = 1152

const answerWeight = 1
const questionWeight = 0.05

/** What is needed to write a document. */
export interface Pen {
  readonly encode: (text: string) => ArrayLike<number>
  readonly random: Random.Random
  readonly skill: Addition.Skill
}

export interface Turn {
  readonly question: string
  readonly answer: string
  /** Whether the assistant should learn this answer; otherwise it is part of the prompt. */
  readonly learned: boolean
}

const boxedTurn = ({ random, skill }: Pen): Turn => {
  const [a, b] = Addition.operands(random, 100)
  return { question: Addition.boxedQuestion(a, b), answer: Addition.boxedAnswer(random, skill, a, b), learned: true }
}

const plainTurn = ({ random, skill }: Pen): Turn => {
  const [a, b] = Addition.operands(random, 101)
  return { question: Addition.plainQuestion(a, b), answer: Addition.plainAnswer(random, skill, a, b), learned: true }
}

const workedExample: Turn = { question: Addition.plainQuestion(4, 5), answer: "9", learned: false }

/** The text before an answer: the question in ChatML and the start of the assistant's turn. */
export const prompt = (question: string): string => `<|im_start|>user\n${question}<|im_end|>\n<|im_start|>assistant\n`

/** Writes turns until `enough` accepts the number of tokens. A document that is too long is cut. */
export const write = (
  pen: Pick<Pen, "encode">,
  turns: Iterable<Turn>,
  enough: (tokens: number) => boolean
): Document => {
  const tokens: Array<number> = []
  const weights: Array<number> = []
  const append = (text: string, weight: number) => {
    for (const token of Array.from(pen.encode(text))) {
      tokens.push(token)
      weights.push(weight)
    }
  }
  for (const { answer, learned, question } of turns) {
    append((tokens.length === 0 ? "" : "\n") + prompt(question), questionWeight)
    append(answer, learned ? answerWeight : questionWeight)
    append("<|im_end|>", learned ? answerWeight : questionWeight)
    if (enough(tokens.length)) break
  }
  const length = Math.min(tokens.length, contextLength + 1)
  return { tokens: Int32Array.from(tokens.slice(0, length)), weights: Float32Array.from(weights.slice(0, length)) }
}

const boxed = (pen: Pen): Document => write(pen, [boxedTurn(pen)], () => false)

/** `count` questions that ask for a boxed answer. */
export const sums = (pen: Pen, count: number): ReadonlyArray<Document> =>
  Array.from({ length: count }, () => boxed(pen))

const fewShot = (pen: Pen): Document => write(pen, [workedExample, plainTurn(pen)], () => false)

function* mixedTurns(pen: Pen): Generator<Turn> {
  for (;;) yield pen.random.uniform() < 0.6 ? boxedTurn(pen) : plainTurn(pen)
}

/** Turns that add up to `length` tokens, so that late positions and long-range attention are trained too. */
const conversation = (pen: Pen, length: number): Document => write(pen, mixedTurns(pen), (tokens) => tokens >= length)

const short = (pen: Pen): Document => {
  const draw = pen.random.uniform()
  if (draw < 0.55) return boxed(pen)
  if (draw < 0.8) return fewShot(pen)
  return conversation(pen, 40 + pen.random.below(120))
}

/** Draws the length of a long document, log-uniform between 160 tokens and the longest context. */
export const longLength = ({ uniform }: Random.Random): number => {
  const shortest = 160
  return Math.floor(shortest * Math.pow(contextLength / shortest, uniform()))
}

const long = (pen: Pen): Document => conversation(pen, longLength(pen.random))

/** The documents of one step: one long document, then `count` short ones. */
export const batch = (pen: Pen, count: number): ReadonlyArray<Document> => [
  long(pen),
  ...Array.from({ length: count }, () => short(pen))
]
