/** Training programs: the types of a cursor, an update and an iteration. */
import { Loss } from "@effect-rl/core"
import type { Datum } from "@effect-rl/core/backend"
import { Pass, Program, Run, type RunOptions } from "@effect-rl/core/program"
import { type Array, Effect, Schema, Stream } from "effect"

declare const options: RunOptions.RunOptions
declare const policyData: Array.NonEmptyReadonlyArray<Datum.Datum<"PolicyTokens">>

class Overheated extends Schema.TaggedError<Overheated>()("Overheated", {}) {}

const counting: Program.Program<number, Overheated> = {
  name: "counting",
  identity: {},
  cursor: Schema.Int,
  start: 0,
  length: 1,
  ahead: 0,
  iterations: () => Stream.fail(new Overheated())
}

/** The run fails with its program's errors. */
export const heated = Run.stream(counting, options).pipe(Stream.catchTag("Overheated", () => Stream.empty))

export const withoutJson: Program.Program<Date> = {
  name: "dated",
  identity: {},
  // @ts-expect-error a cursor is written to the checkpoint's record: its encoded form must be JSON
  cursor: Schema.DateValid,
  start: new Date(0),
  length: 1,
  ahead: 0,
  iterations: () => Stream.empty
}

/** A date as text is JSON. */
export const asText: Program.Program<Date> = { ...withoutJson, cursor: Schema.DateFromString }

export const ofFunctions: Program.Program<() => number> = {
  name: "thunk",
  identity: {},
  // @ts-expect-error no JSON holds a function
  cursor: Schema.declare((value): value is () => number => typeof value === "function"),
  start: () => 0,
  length: 1,
  ahead: 0,
  iterations: () => Stream.empty
}

export const otherStart: Program.Program<number> = {
  ...counting,
  iterations: () => Stream.empty,
  // @ts-expect-error the start is a cursor
  start: "0"
}

export const unidentified: Program.Program<number> = {
  ...counting,
  iterations: () => Stream.empty,
  // @ts-expect-error what identifies a run is JSON, and no function
  identity: { loss: () => 0 }
}

// @ts-expect-error a policy's data do not fit a supervised loss
export const mixed = Program.update([Pass.make(policyData, Loss.crossEntropy)], { learningRate: 1 })

export const undeclared: Program.Program<number> = {
  ...counting,
  // @ts-expect-error the program says that it cannot fail
  iterations: () => Stream.fromEffect(Effect.fail(new Overheated()))
}
