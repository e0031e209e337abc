/**
 * Documents to search, and questions about them: a made-up gazetteer, or the files of a folder.
 *
 * @example
 * SearchCorpus.gazetteer.documents.length // => 120
 */
import { Seed } from "@effect-rl/core/environments"
import { Jsonl, RowError } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Source from "../datasets/Source.ts"
import * as TaskSets from "../datasets/TaskSets.ts"

/** A question with all its correct answers. */
export interface Question {
  readonly question: string
  readonly answers: ReadonlyArray<string>
}

export interface SearchCorpus {
  readonly documents: ReadonlyArray<string>
  readonly train: ReadonlyArray<Question>
  readonly test: ReadonlyArray<Question>
}

/** Name of the gazetteer, given instead of a folder. */
export const gazetteerName = "gazetteer"

const surnames = ["Abbot", "Barlow", "Carver", "Dalton", "Ellery", "Fowler", "Garner", "Holden"]

const number = (least: number, count: number) => (random: number) => String(least + random % count)

/** Kinds of places, the topics known about each kind, and how each topic's value is drawn. */
const kinds: ReadonlyArray<readonly [kind: string, topic: string, value: (random: number) => string]> = [
  ["Port", "mayor", (random) => surnames[random % surnames.length] ?? ""],
  ["Mount", "height", number(1000, 9000)],
  ["Lake", "depth", number(10, 90)],
  ["Fort", "age", number(100, 900)],
  ["Cape", "keeper", (random) => surnames[random % surnames.length] ?? ""],
  ["Camp", "size", number(10, 90)]
]

const names = [
  "Kestrel",
  "Marlin",
  "Bramble",
  "Gannet",
  "Juniper",
  "Larkspur",
  "Narwhal",
  "Petrel",
  "Saffron",
  "Wagtail",
  "Badger",
  "Cedar",
  "Heron",
  "Otter",
  "Poplar",
  "Raven",
  "Salmon",
  "Thistle",
  "Walnut",
  "Willow"
]

/** A statement about a place, and the question that it answers. */
interface Fact extends Question {
  readonly place: string
  readonly document: string
}

const facts: ReadonlyArray<Fact> = kinds.flatMap(([kind, topic, value]) =>
  names.map((name) => {
    const place = `${kind} ${name}`
    const answer = value(Seed.derive(0, "SearchCorpus", place))
    return {
      place,
      document: `The ${topic} of ${place} is ${answer}.`,
      question: `What is the ${topic} of ${place}?`,
      answers: [answer]
    }
  })
)

/** Whether a place is held out. About one in eight is: searches find its document, but training asks no question about it. */
export const isHeldOut = (place: string) => Seed.derive(0, "SearchCorpus", place) % 8 === 0

const questionsAbout = (facts: ReadonlyArray<Fact>) =>
  facts.map(({ answers, question }): Question => ({ question, answers }))

/** A document about each of 120 places. Each word of a name also occurs in other places' names. */
export const gazetteer: SearchCorpus = {
  documents: facts.map(({ document }) => document),
  train: questionsAbout(facts.filter(({ place }) => !isHeldOut(place))),
  test: questionsAbout(facts.filter(({ place }) => isHeldOut(place)))
}

const Document = Schema.Struct({ text: Schema.String })

const questions = Effect.fnUntraced(function*(folder: string, split: string) {
  const rows = yield* Stream.runCollect(Source.rows(TaskSets.searchQa, split, { folder }))
  return rows.map(({ golden_answers, question }): Question => ({ question, answers: golden_answers }))
})

/**
 * The gazetteer, or the files of a folder: `corpus.jsonl` with lines `{"text": …}`, and the questions `train` and `test` as `.jsonl`,
 * `.parquet` or `.csv` with the fields of `TaskSets.searchQa`.
 */
export const load = Effect.fn("SearchCorpus.load")(function*(from: string) {
  if (from === gazetteerName) return gazetteer
  const path = yield* Path.Path
  const file = path.join(from, "corpus.jsonl")
  const documents = yield* Stream.runCollect(Jsonl.rows(file, Document))
  if (documents.length === 0) {
    return yield* new RowError.RowError({ file, detail: "has no rows, expected at least one document" })
  }
  const corpus: SearchCorpus = {
    documents: documents.map(({ text }) => text),
    train: yield* questions(from, "train"),
    test: yield* questions(from, "test")
  }
  return corpus
})
