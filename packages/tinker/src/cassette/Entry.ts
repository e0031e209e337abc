/** The lines of a recording: a header, then one line per call with its answer. */
import { TinkerError } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Call from "./Call.ts"
import * as Operation from "./Operation.ts"
import * as Secrets from "./Secrets.ts"

/** The format version that this code reads and writes. */
const version = 1

const Header = Schema.fromJsonString(
  Schema.Struct({ format: Schema.Literal("effect-rl cassette"), version: Schema.Int })
)

/** The first line of every recording. */
export const header = JSON.stringify({ format: "effect-rl cassette", version })

const Failure = Schema.toCodecJson(TinkerError.TinkerError)

const Line = Schema.fromJsonString(Schema.Struct({
  key: Schema.String,
  /** Index among the calls with the same key. */
  ordinal: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)),
  call: Schema.JsonObject,
  answer: Schema.optionalKey(Schema.Json),
  failure: Schema.optionalKey(Schema.Json)
}))

/** How a call ended. */
export type Outcome = Result.Result<Schema.Json, TinkerError.TinkerError>

/** A recorded call. */
export interface Entry {
  readonly line: number
  readonly key: string
  readonly ordinal: number
  readonly call: Call.JsonObject
  readonly outcome: Outcome
}

/** The name of the object that a call made. */
export const id = (key: string, ordinal: number) => `${key}.${ordinal}`

/** The error without its cause, which belongs to the transport and varies between recordings. */
const portable = ({ operation, reason }: TinkerError.TinkerError) => new TinkerError.TinkerError({ operation, reason })

const outcomeFields = <A>({ operation }: Call.Call<A>, result: Result.Result<A, TinkerError.TinkerError>) =>
  Result.match(result, {
    onSuccess: (value) =>
      Effect.map(Schema.encodeEffect(operation.answer)(value), (answer): Call.JsonObject => ({ answer })),
    onFailure: (error) =>
      Effect.map(Schema.encodeEffect(Failure)(portable(error)), (failure): Call.JsonObject => ({ failure }))
  })

/** The line for a completed call. An answer that does not match its type is a defect in the backend. */
export const encode = <A>(call: Call.Call<A>, ordinal: number, result: Result.Result<A, TinkerError.TinkerError>) =>
  Effect.map(
    Effect.orDie(outcomeFields(call, result)),
    (outcome) => JSON.stringify({ key: call.key, ordinal, call: call.request, ...Secrets.stripObject(outcome) })
  )

const message = Effect.mapError((error: Schema.SchemaError) => error.message.replaceAll(/\s*\n\s*/g, " "))

/** Fails with a message unless the line is the header of a recording in the supported version. */
export const checkHeader = (text: string): Effect.Effect<void, string> =>
  Schema.decodeUnknownEffect(Header)(text).pipe(
    Effect.mapError(() => `${text.slice(0, 80)} does not begin a cassette, expected ${header}`),
    Effect.filterOrFail(
      (header) => header.version === version,
      (header) => `version is ${header.version}, expected ${version}: record again with this version`
    ),
    Effect.asVoid
  )

const decodeOutcome = Effect.fnUntraced(function*(line: (typeof Line)["Type"]) {
  const { answer, call, failure } = line
  if (failure !== undefined) return Result.fail(yield* message(Schema.decodeUnknownEffect(Failure)(failure)))
  const schema = Operation.answerOf(String(call["operation"]))
  if (schema === undefined) {
    return yield* Effect.fail(`call.operation is ${String(call["operation"])}, which no backend has`)
  }
  if (answer === undefined) return yield* Effect.fail("answer and failure are both absent, expected one of them")
  yield* message(Schema.decodeUnknownEffect(schema)(answer))
  return Result.succeed(answer)
})

/** The entry of a line. Fails with a description of the problem. */
export const decode = Effect.fnUntraced(
  function*(text: string, line: number): Effect.fn.Return<Entry, string> {
    const found = yield* message(Schema.decodeUnknownEffect(Line)(text))
    const { call, key, ordinal } = found
    const expected = Call.keyOf(call)
    if (key !== expected) return yield* Effect.fail(`key is ${key}, expected ${expected}: the call has been changed`)
    return { line, key, ordinal, call, outcome: yield* decodeOutcome(found) }
  }
)
