/** Conversations about additions, boxed and plain. */
import * as Addition from "./Addition.ts"
import { type Corpus, reliableShare } from "./Corpus.ts"
import * as Documents from "./Documents.ts"
import { phrases } from "./Phrases.ts"
import * as Random from "./Random.ts"

const texts = () => {
  const random = Random.make(1)
  const examples = Array.from({ length: 2000 }, () => {
    const [a, b] = Addition.operands(random, 100)
    return `user\n${Addition.boxedQuestion(a, b)}\nassistant\n${Addition.boxedAnswer(random, Addition.mixed, a, b)}`
  })
  return [...examples.map((text) => [text, 1] as const), ...phrases.map((text) => [text, 200] as const)]
}

/** One long document and `count` short ones in each step. */
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
