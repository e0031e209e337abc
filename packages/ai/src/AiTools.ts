/** Tools of an `effect/ai` Toolkit, for policies in training. */
import { FunctionTool } from "@effect-rl/core"
import * as AiError from "effect/ai/AiError"
import * as Prompt from "effect/ai/Prompt"
import * as AiTool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as AiMessages from "./AiMessages.ts"

export interface Options<E, F extends E = never> {
  /** Time limit of each call. When it is exceeded, the policy sees an error. Default: no limit. */
  readonly timeout?: Duration.Input
  /** Selects the failures that fail the episode attempt. All other failures are shown to the policy. */
  isFatal?(error: E): error is F
}

type AnyTools = Record<string, AiTool.Any>

/** The errors of a toolkit's handlers. */
export type Failure<Tools extends AnyTools> = AiTool.HandlerError<Tools[keyof Tools]> | AiError.AiError

const Arguments = Schema.Record(Schema.String, Schema.Json)
const toJsonObject = Schema.decodeUnknownSync(Arguments)
const shown = ({ encodedResult, modelOutput }: AiTool.HandlerResult<AiTool.Any>) =>
  modelOutput === undefined ? AiMessages.toText(encodedResult) : Prompt.toolModelOutputToText(modelOutput)

const toAnswer = (result: AiTool.HandlerResult<AiTool.Any>): FunctionTool.Answer => {
  if (!result.isFailure) return { content: shown(result) }
  const failure = result.failureOrigin === "parameters" ? "validation_failed" : "execution_failed"
  return FunctionTool.failed(failure, AiMessages.toText(result.encodedResult))
}

const isInvalidCall = (error: unknown): error is AiError.AiError =>
  AiError.isAiError(error) && error.reason._tag === "ToolParameterValidationError"

/** The last result of a handler. Earlier results only report progress. */
const answer = (
  toolkit: Toolkit.WithHandler<AnyTools>,
  name: string,
  args: Schema.JsonObject
): Effect.Effect<FunctionTool.Answer, unknown, unknown> =>
  Effect.flatMap(
    toolkit.handle(name, args),
    (results) => Stream.runLast(Stream.filter(results, ({ preliminary }) => !preliminary))
  ).pipe(
    Effect.map(Option.match({
      onNone: () => FunctionTool.failed("execution_failed", "the tool gave no result"),
      onSome: toAnswer
    })),
    Effect.catchIf(isInvalidCall, ({ message }) => Effect.succeed(FunctionTool.failed("validation_failed", message)))
  )

/**
 * The tools of a toolkit, run by its handlers. A failure that the toolkit returns or raises is shown to the policy as an error, unless
 * `isFatal` selects it.
 *
 * @example
 * import { Tool, Toolkit } from "effect/ai"
 *
 * const tools = Effect.gen(function*() {
 *   const toolkit = yield* Toolkit.make(Tool.make("clock", { success: Schema.String }))
 *   return AiTools.fromToolkit(toolkit, { timeout: "10 seconds" })
 * })
 */
export function fromToolkit<Tools extends AnyTools, F extends Failure<Tools> = never>(
  toolkit: Toolkit.WithHandler<Tools>,
  options?: Options<Failure<Tools>, F>
): ReadonlyArray<FunctionTool.FunctionTool<F, AiTool.HandlerServices<Tools[keyof Tools]>>>
export function fromToolkit(
  toolkit: Toolkit.WithHandler<AnyTools>,
  options: { readonly timeout?: Duration.Input; isFatal?(error: unknown): boolean } = {}
): ReadonlyArray<FunctionTool.FunctionTool<unknown, unknown>> {
  return Object.entries(toolkit.tools).map(([name, tool]) =>
    FunctionTool.make({
      name,
      description: AiTool.getDescription(tool) ?? "",
      parameters: Arguments,
      jsonSchema: toJsonObject(AiTool.getJsonSchema(tool)),
      handler: (args) => answer(toolkit, name, args),
      isFatal: (error): error is unknown => options.isFatal?.(error) ?? false,
      ...(options.timeout !== undefined && { timeout: options.timeout })
    })
  )
}
