/** Conversations to continue, with the rubrics by which the next message is graded. */
import { Message } from "@effect-rl/core"
import { type Rubric, Seed } from "@effect-rl/core/environments"
import { Jsonl, RowError } from "@effect-rl/files"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Sums from "../arithmetic/Sums.ts"
import * as PythonRandom from "../random/PythonRandom.ts"

export interface RubricTask {
  readonly messages: ReadonlyArray<Message.Message>
  readonly rubrics: Arr.NonEmptyReadonlyArray<Rubric.Rubric>
}

export interface Split {
  readonly train: ReadonlyArray<RubricTask>
  readonly test: ReadonlyArray<RubricTask>
}

/** Names of the generated sums, given instead of a folder. */
export const [sumsName, smallSumsName] = ["sums", "small-sums"]

const sum = ([a, b]: Sums.Pair): RubricTask => ({
  messages: [...Sums.example, Message.user(Sums.question([a, b]))],
  rubrics: [{ text: `Does the chatbot correctly get the answer ${a + b}?` }]
})

/** The cookbook's sums up to 1,000, in its order: 10,000 to train on, and the next 1,000 for evaluation. */
const sums = (): Split => {
  const next = PythonRandom.below(42)
  const all = Array.from({ length: 11_000 }, () => sum([next(1001), next(1001)]))
  return { train: all.slice(0, 10_000), test: all.slice(10_000) }
}

/** Sums below 100, in an order drawn once. No order of a held-out pair is trained on. */
const smallSums = (): Split => ({
  train: Array.from(Seed.permutation(Sums.trainingPairs.length, 0)).flatMap((at) =>
    Sums.trainingPairs.slice(at, at + 1)
  ).map(sum),
  test: Sums.heldOutPairs.flatMap(([a, b]) => [sum([a, b]), sum([b, a])])
})

/** Matches the range of scores, which the cookbook's rubrics state in words. */
const rangeIn = /between (-?[\d.]+) and (-?[\d.]+)/

const Item = Schema.Struct({
  rubric_str: Schema.String,
  grader_output_format_instruction: Schema.optionalKey(Schema.String.check(Schema.isPattern(rangeIn)))
})

const Row = Schema.Struct({
  convo: Schema.NonEmptyArray(Schema.Struct({ role: Schema.String, content: Schema.String })),
  rubric_items: Schema.NonEmptyArray(Item)
})

const rubric = (
  { grader_output_format_instruction: instruction = "", rubric_str: text }: typeof Item.Type
): Rubric.Rubric => {
  const [, worst, best] = rangeIn.exec(instruction) ?? []
  return worst === undefined || best === undefined ? { text } : { text, range: [Number(worst), Number(best)] }
}

/**
 * The rows of a file in the cookbook's format. A score is read from `<score>` tags, even if a row gives another
 * pattern.
 */
const fromFile = Effect.fnUntraced(function*(file: string) {
  const rows = yield* Stream.runCollect(Jsonl.rows(file, Row))
  if (rows.length === 0) {
    return yield* new RowError.RowError({ file, detail: "has no rows, expected at least one conversation" })
  }
  return rows.map(({ convo, rubric_items }): RubricTask => ({
    messages: convo,
    rubrics: Arr.map(rubric_items, rubric)
  }))
})

/**
 * Made-up sums, or `train.jsonl` and `test.jsonl` of a folder, whose rows have the cookbook's fields `convo` and `rubric_items`.
 *
 * @example
 * const split = RubricTasks.load("data/rubrics")
 *
 * @see tinker-cookbook `RubricDatapointListBuilderFromJsonl`, `recipes/rubric/generate_data.py`
 */
export const load = Effect.fn("RubricTasks.load")(function*(from: string) {
  if (from === sumsName) return sums()
  if (from === smallSumsName) return smallSums()
  const path = yield* Path.Path
  const split: Split = {
    train: yield* fromFile(path.join(from, "train.jsonl")),
    test: yield* fromFile(path.join(from, "test.jsonl"))
  }
  return split
})
