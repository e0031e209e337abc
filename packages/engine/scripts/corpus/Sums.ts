/** Conversations about additions, with boxed and plain answers. */
import { columns } from "@effect-rl/recipes/arithmetic/WorkedSums"
import * as Addition from "./Addition.ts"
import { type Corpus, reliableShare } from "./Corpus.ts"
import * as Documents from "./Documents.ts"
import { phrases } from "./Phrases.ts"
import * as Random from "./Random.ts"

/** Boxed answers for training a tokenizer. */
export const examples = () => {
  const random = Random.make(1)
  return Array.from({ length: 2000 }, () => {
    const [a, b] = Addition.operands(random, 100)
    const answer = Addition.boxedAnswer(random, Addition.mixed, a, b)
    return [`user\n${Addition.boxedQuestion(a, b)}\nassistant\n${answer}`, 1] as const
  })
}

const texts = () => [...examples(), ...phrases.map((text) => [text, 200] as const)]

/** A corpus with one long document and `count` short ones in each step. */
export const make = (count: number): Corpus => ({
  texts: () => Promise.resolve(texts()),
  documents: ({ encode }, steps) => {
    const random = Random.make(2)
    return Promise.resolve((step) => {
      const skill = step < steps * reliableShare ? Addition.reliable : Addition.mixed
      return Promise.resolve(Documents.batch({ encode, random, skill }, count))
    })
  }
})

const worked = (encode: Documents.Pen["encode"], random: Random.Random) => {
  const [a, b] = Addition.operands(random, 100)
  const answer = `${columns(a, b)} so \\boxed{${a + b}}`
  return Documents.write({ encode }, [{ question: Addition.boxedQuestion(a, b), answer, learned: true }], () => true)
}

/** A corpus of `count` right answers, worked step by step, in each step. It trains no tokenizer, so each byte is a token. */
export const teaching = (count: number): Corpus => ({
  texts: () => Promise.resolve([]),
  documents: ({ encode }) => {
    const random = Random.make(2)
    return Promise.resolve(() => Promise.resolve(Array.from({ length: count }, () => worked(encode, random))))
  }
})
