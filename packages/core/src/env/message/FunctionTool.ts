/** Tools that a policy can call. */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "effect/StandardSchema"
import type * as Message from "../../chat/Message.ts"
import type { ToolSpec } from "../../chat/ToolSpec.ts"
import type * as EnvMetric from "../../records/EnvMetric.ts"
import * as PythonJson from "../../renderers/text/PythonJson.ts"

/** Why a tool call failed. The policy gets the error as the tool's answer. */
export type Failure = "json_decode_failed" | "validation_failed" | "execution_failed" | "tool_not_found"

/** The answer to a tool call, as the policy sees it. @see tinker-cookbook `ToolResult` */
export interface Answer {
  readonly content: Message.Message["content"]
  /** Whether the answer ends the episode. */
  readonly stop?: boolean
  readonly metrics?: EnvMetric.Metrics
  readonly failure?: Failure
}

/**
 * A tool. `call` gets the arguments as the policy wrote them, and answers even if they are invalid. It fails only if the episode cannot
 * continue.
 *
 * @see tinker-cookbook `Tool`
 */
export interface FunctionTool<out E = never, out R = never> {
  readonly spec: ToolSpec
  readonly call: (argumentText: string) => Effect.Effect<Answer, E, R>
}

/** The error type of a tool, or the union for several tools; `never` without tools. */
export type Error<T> = [T] extends [never] ? never : [T] extends [FunctionTool<infer E, infer _R>] ? E : never

/** The requirements of a tool, or the union for several tools; `never` without tools. */
export type Requirements<T> = [T] extends [never] ? never : [T] extends [FunctionTool<infer _E, infer R>] ? R : never

/**
 * The parameters of a tool: an Effect schema, or a schema of another library that follows Standard Schema, such as zod, valibot or arktype.
 * `jsonSchema` is what the policy is shown. By default it is derived from `parameters`, which some libraries such as valibot do not
 * support.
 */
export type Parameters<P> =
  | {
    readonly parameters: Schema.Codec<P, unknown> | StandardSchemaV1<unknown, P> & StandardJSONSchemaV1
    readonly jsonSchema?: Schema.JsonObject
  }
  | { readonly parameters: StandardSchemaV1<unknown, P>; readonly jsonSchema: Schema.JsonObject }

/** A tool's description and its handler. */
export type Options<P, E, R, F extends E = never> = Parameters<P> & {
  /** The name by which the model calls the tool. */
  readonly name: string
  /** What the tool does, for the model. */
  readonly description: string
  /** Answers a call. */
  readonly handler: (parameters: P) => Effect.Effect<string | Answer, E, R>
  /** Time limit of the handler. A call that takes longer is answered with an error. Default: unlimited. */
  readonly timeout?: Duration.Input
  /** Selects failures that fail the attempt instead of becoming an answer, such as a lost sandbox. Default: none. */
  readonly isFatal?: (error: E) => error is F
}

/** The answer that reports a failure to the policy. */
export const failed = (failure: Failure, detail: string): Answer => ({
  content: PythonJson.stringify(new Map([["error", detail]])),
  failure
})

const unfit = (detail: string) => failed("validation_failed", `the arguments do not fit: ${detail}`)

type Decode<P> = (value: unknown) => Effect.Effect<P, Answer>

const decodeEffect = <P>(parameters: Schema.Codec<P, unknown>): Decode<P> => {
  const decode = Schema.decodeUnknownResult(Schema.toCodecJson(parameters), { errors: "all" })
  return (value) => Effect.fromResult(Result.mapError(decode(value), ({ message }) => unfit(message)))
}

const keyOf = (part: PropertyKey | StandardSchemaV1.PathSegment) => typeof part === "object" ? part.key : part

/** Formats a Standard Schema issue as Effect formats schema issues. */
const issueText = ({ message, path = [] }: StandardSchemaV1.Issue) =>
  path.length === 0 ? message : `${message}\n  at ${path.map((part) => JSON.stringify([String(keyOf(part))])).join("")}`

const decodeStandard = <P>({ "~standard": { validate } }: StandardSchemaV1<unknown, P>): Decode<P> => (value) =>
  Effect.tryPromise({ try: async () => await validate(value), catch: (cause) => unfit(String(cause)) }).pipe(
    Effect.flatMap((result) =>
      result.issues === undefined
        ? Effect.succeed(result.value)
        : Effect.fail(unfit(result.issues.map(issueText).join("\n")))
    )
  )

const decode = <P>(parameters: Parameters<P>["parameters"]) => {
  const decodeParameters = "~standard" in parameters ? decodeStandard(parameters) : decodeEffect(parameters)
  return (text: string): Effect.Effect<P, Answer> =>
    Effect.fromResult(PythonJson.parse(text)).pipe(
      Effect.mapError((problem) => failed("json_decode_failed", `the arguments are not JSON: ${problem}`)),
      Effect.flatMap((value) => decodeParameters(PythonJson.toJson(value)))
    )
}

const detailOf = (cause: Cause.Cause<unknown>) => {
  const error = Cause.squash(cause)
  return Predicate.isError(error) && error.message !== "" ? error.message : String(error)
}

/** Turns a handler's failures and defects into answers, except for fatal ones. */
const answered = <E, R, F extends E>(
  handled: Effect.Effect<string | Answer, E, R>,
  isFatal: ((error: E) => error is F) | undefined
): Effect.Effect<Answer, F, R> =>
  handled.pipe(
    Effect.map((answer) => typeof answer === "string" ? { content: answer } : answer),
    Effect.catchCause((cause) => {
      const error = Cause.findError(cause)
      return Result.isSuccess(error) && isFatal?.(error.success) === true
        ? Effect.fail(error.success)
        : Effect.succeed(failed("execution_failed", detailOf(cause)))
    })
  )

const timed = <E, R>(self: Effect.Effect<Answer, E, R>, timeout: Duration.Input | undefined) => {
  if (timeout === undefined) return self
  const limit = Duration.format(Duration.fromInputUnsafe(timeout))
  return Effect.timeoutOrElse(self, {
    duration: timeout,
    orElse: () => Effect.succeed(failed("execution_failed", `no answer within ${limit}`))
  })
}

const toJsonObject = Schema.decodeUnknownSync(Schema.Record(Schema.String, Schema.Json))

const describeEffect = (parameters: Schema.Constraint): Schema.JsonObject => {
  const { definitions, schema } = Schema.toJsonSchemaDocument(parameters)
  return toJsonObject(Object.keys(definitions).length === 0 ? schema : { ...schema, $defs: definitions })
}

const isDescribed = (
  parameters: StandardSchemaV1 | StandardJSONSchemaV1
): parameters is StandardJSONSchemaV1 => "jsonSchema" in parameters["~standard"]

const describeStandard = (parameters: StandardSchemaV1 | StandardJSONSchemaV1): Schema.JsonObject => {
  if (!isDescribed(parameters)) {
    const { vendor } = parameters["~standard"]
    throw new TypeError(`parameters of ${vendor} have no JSON schema of their own, expected jsonSchema beside them`)
  }
  const { $schema: _dialect, ...schema } = toJsonObject(
    parameters["~standard"].jsonSchema.input({ target: "draft-2020-12" })
  )
  return schema
}

/** The JSON schema of the parameters that the policy is shown. */
const describe = <P>({ jsonSchema, parameters }: Parameters<P>): Schema.JsonObject => {
  if (jsonSchema !== undefined) return jsonSchema
  return "~standard" in parameters ? describeStandard(parameters) : describeEffect(parameters)
}

/**
 * A tool made from a schema of any library and a function. The policy gets `{"error": …}` as the answer and continues if the arguments are
 * not JSON or do not match the schema, or if the handler fails, dies or takes too long; failures that `isFatal` selects fail the call.
 * Throws a `TypeError` if neither the options nor the schema's library provide a JSON schema.
 *
 * @example
 * const add = FunctionTool.make({
 *   name: "add",
 *   description: "Adds two numbers",
 *   parameters: Schema.Struct({ a: Schema.Finite, b: Schema.Finite }),
 *   handler: ({ a, b }) => Effect.succeed(String(a + b))
 * })
 *
 * @see tinker-cookbook `FunctionTool`
 */
export const make = <P, E, R, F extends E = never>(options: Options<P, E, R, F>): FunctionTool<F, R> => {
  const { description, handler, isFatal, name, timeout } = options
  const decodeText = decode<P>(options.parameters)
  return {
    spec: { name, description, parameters: describe(options) },
    call: (argumentText) =>
      Effect.matchEffect(decodeText(argumentText), {
        onFailure: (answer) => Effect.succeed(answer),
        onSuccess: (parameters) => timed(answered(Effect.suspend(() => handler(parameters)), isFatal), timeout)
      })
  }
}
