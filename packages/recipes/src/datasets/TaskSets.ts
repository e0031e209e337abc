/**
 * Datasets of instructions, search questions and tool calls.
 *
 * @example
 * const prompts = Source.rows(TaskSets.ifeval, "test").pipe(Stream.map(({ prompt }) => prompt))
 */
import * as Schema from "effect/Schema"
import * as Source from "./Source.ts"

/** Instructions with the arguments of their checks; see `InstructionChecks`. */
export const ifeval = Source.make({
  name: "ifeval",
  repository: "google/IFEval",
  configs: ["default"],
  splits: { test: "train" },
  licence: "Apache-2.0",
  row: Schema.Struct({
    prompt: Schema.String,
    instruction_id_list: Schema.NonEmptyArray(Schema.String),
    kwargs: Schema.Array(Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown)))
  })
})

/** Search questions, each with all accepted answers. */
export const searchQa = Source.make({
  name: "search_qa",
  repository: "PeterJinGo/nq_hotpotqa_train",
  configs: ["default"],
  splits: { train: "train", test: "test" },
  licence: "not stated",
  row: Schema.Struct({
    question: Schema.String,
    golden_answers: Schema.NonEmptyArray(Schema.String),
    data_source: Schema.String
  })
})

const Call = Schema.Struct({ name: Schema.String, arguments: Schema.Record(Schema.String, Schema.Unknown) })
const Tool = Schema.Struct({
  name: Schema.String,
  description: Schema.String,
  parameters: Schema.Record(Schema.String, Schema.Unknown)
})

/** Requests with the available tools and the expected calls. Access needs an account that accepted the terms. */
export const toolUse = Source.make({
  name: "tool_use",
  repository: "Salesforce/xlam-function-calling-60k",
  configs: ["dataset"],
  splits: { train: "train" },
  licence: "CC-BY-4.0",
  row: Schema.Struct({
    query: Schema.String,
    tools: Schema.fromJsonString(Schema.Array(Tool)),
    answers: Schema.fromJsonString(Schema.Array(Call))
  })
})
