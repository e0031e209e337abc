/** Rollouts as a table in a Parquet file, for notebooks. */
import { Trajectory } from "@effect-rl/core/environments"
import { Conversation, type Rollouts } from "@effect-rl/core/records"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { SchemaElement } from "hyparquet"
import { ByteWriter, ParquetWriter } from "hyparquet-writer"
import * as Projection from "./Projection.ts"

type Row = readonly [batch: Projection.Batch, member: Rollouts.Told]

type Cell = string | number | boolean | ReadonlyArray<string> | ReadonlyArray<number> | null

interface Column {
  readonly name: string
  readonly type: "STRING" | "INT32" | "DOUBLE" | "BOOLEAN" | "FLOAT"
  readonly isList?: boolean
  readonly of: (row: Row) => Cell
}

/** The table's columns. Each member that finished is a row. */
const columns: ReadonlyArray<Column> = [
  { name: "iteration", type: "INT32", of: ([batch]) => batch.iteration },
  { name: "evaluator", type: "STRING", of: ([batch]) => batch.evaluator ?? null },
  { name: "group", type: "STRING", of: ([, { group }]) => group.record.key },
  { name: "tags", type: "STRING", isList: true, of: ([, { group }]) => group.record.tags },
  { name: "member", type: "INT32", of: ([, { member }]) => member },
  { name: "reward", type: "DOUBLE", of: ([, { reward }]) => reward },
  { name: "advantage", type: "DOUBLE", of: ([, { advantage }]) => advantage ?? null },
  { name: "sampler_step", type: "INT32", of: ([, { group }]) => group.record.step },
  { name: "turn_sampler_steps", type: "INT32", isList: true, of: ([, member]) => Projection.samplerSteps(member) },
  { name: "turns", type: "INT32", of: ([, { trajectory }]) => trajectory.transitions.length },
  { name: "stop_reason", type: "STRING", of: ([, { trajectory }]) => Option.getOrNull(trajectory.stopReason) },
  { name: "truncated", type: "BOOLEAN", of: ([, { trajectory }]) => Trajectory.isTruncated(trajectory) },
  { name: "prompt_tokens", type: "INT32", of: ([, { trajectory }]) => Trajectory.observationTokens(trajectory) },
  { name: "response_tokens", type: "INT32", of: ([, { trajectory }]) => Trajectory.actionTokens(trajectory) },
  {
    name: "prompts",
    type: "STRING",
    isList: true,
    of: ([, { turns }]) => turns.map(Conversation.shownText)
  },
  {
    name: "responses",
    type: "STRING",
    isList: true,
    of: ([, { turns }]) => turns.map(Conversation.saidText)
  },
  {
    name: "sampled_tokens",
    type: "INT32",
    isList: true,
    of: ([, { trajectory }]) => trajectory.transitions.flatMap(({ action }) => Array.from(action.tokens))
  },
  {
    name: "logprobs",
    type: "FLOAT",
    isList: true,
    of: ([, { trajectory }]) => trajectory.transitions.flatMap(({ action }) => Array.from(action.logprobs))
  }
]

const typeOf = ({ type }: Column): Partial<SchemaElement> =>
  type === "STRING" ? { type: "BYTE_ARRAY", converted_type: "UTF8" } : { type }

/** The schema of a column. A Parquet list has three levels: the list, its repeated group and the element. */
const schemaOf = (column: Column): ReadonlyArray<SchemaElement> =>
  column.isList === true
    ? [
      { name: column.name, repetition_type: "REQUIRED", num_children: 1, converted_type: "LIST" },
      { name: "list", repetition_type: "REPEATED", num_children: 1 },
      { name: "element", repetition_type: "REQUIRED", ...typeOf(column) }
    ]
    : [{ name: column.name, repetition_type: "OPTIONAL", ...typeOf(column) }]

const schema: Array<SchemaElement> = [{ name: "root", num_children: columns.length }, ...columns.flatMap(schemaOf)]

const settled = (write: () => void | Promise<void>) => Effect.promise(() => Promise.resolve(write()))

/**
 * Writes the rollouts of all members that finished, with one row group per iteration or evaluation.
 *
 * @example
 * ParquetRollouts.write(reader, "rollouts.parquet", { language: tokenizer })
 */
export const write: Projection.Projection = Effect.fnUntraced(function*(run, out, { language } = {}) {
  const writer = new ByteWriter()
  const table = new ParquetWriter({ writer, schema })
  yield* Stream.runForEach(Projection.batches(run, language), (batch) =>
    Effect.suspend(() => {
      const rows = batch.members.map((member): Row => [batch, member])
      const columnData = columns.map(({ name, of }) => ({ name, data: rows.map((row) => of(row)) }))
      return rows.length === 0 ? Effect.void : settled(() => table.write({ columnData }))
    }))
  yield* settled(() => table.finish())
  yield* Projection.writeFile(out, Stream.succeed(writer.getBytes()))
})
