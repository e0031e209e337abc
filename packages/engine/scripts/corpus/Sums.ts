/** Conversations about additions, with boxed and plain answers. */
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
