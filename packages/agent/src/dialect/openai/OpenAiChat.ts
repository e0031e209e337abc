/** Chat completions. */
import { OpenAi, type Tokenizer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import type { Prompted, Settings } from "../Answerer.ts"
import * as ClientBody from "../ClientBody.ts"
import type { Incoming } from "../Incoming.ts"
import type { Notes } from "../Notes.ts"
import * as Reasoning from "../Reasoning.ts"
import { invalid } from "../Refusal.ts"
import * as Reply from "../Reply.ts"
import * as Structure from "../Structure.ts"
import * as OpenAiAnswer from "./OpenAiAnswer.ts"
import * as Wire from "./OpenAiRequest.ts"
import * as OpenAiStream from "./OpenAiStream.ts"

type Request = Omit<Wire.Completion, "prompt" | "logprobs" | "echo">

/** The sampling settings that chat completions and completions share. */
export const settingsOf = ({ max_tokens, n, seed, stop, temperature, top_k, top_p }: Request): Settings => ({
  maxTokens: max_tokens,
  choices: n,
  temperature,
  topP: top_p,
  topK: top_k,
  seed,
  stops: typeof stop === "string" ? [stop] : stop ?? []
})

const finishOf = ({ isCut, parsed }: Reply.Ended) => isCut ? "length" : OpenAi.finishReason(parsed)

const whole = Effect.fnUntraced(function*(
  prompted: Prompted,
  notes: Notes,
  { logprobs, model, return_token_ids }: Wire.ChatCompletion
) {
  const replies = yield* Reply.whole(prompted, notes)
  const { chatModel: { tokenizer }, request: { prompt } } = prompted
  const isWithIds = return_token_ids === true
  return HttpServerResponse.jsonUnsafe({
    ...(yield* OpenAiAnswer.head(prompted, "chatcmpl-", model)),
    object: "chat.completion",
    choices: replies.map((reply, index) => ({
      index,
      message: OpenAi.fromMessage(reply.ended.parsed.message),
      finish_reason: finishOf(reply.ended),
      logprobs: logprobs === true
        ? { content: OpenAiAnswer.logprobs(tokenizer, reply.sequences), refusal: null }
        : null,
      ...(isWithIds && { token_ids: Reply.tokenIds(reply.sequences) }),
      ...Reply.warned(reply.ended)
    })),
    ...(isWithIds && { prompt_token_ids: Reply.promptIds(prompt) }),
    usage: OpenAiAnswer.usage([prompt], OpenAiAnswer.sampledIn(replies))
  })
})

const opening = { delta: { role: "assistant", content: "" }, finish_reason: null }

/** The fields that an event sets in its choice; `calls` counts the tool calls before it. */
const choicesOf =
  (tokenizer: Tokenizer.Tokenizer, { logprobs, return_token_ids }: Wire.ChatCompletion) =>
  (calls: number, event: Reply.Event): readonly [number, ReadonlyArray<object>] => {
    if (event._tag === "Ended") {
      return [calls, [{ delta: {}, finish_reason: finishOf(event), ...Reply.warned(event) }]]
    }
    if (event._tag === "Sampled") {
      const content = logprobs === true ? OpenAiAnswer.logprobs(tokenizer, [event.sequence]) : []
      const told = {
        ...(content.length > 0 && { logprobs: { content, refusal: null } }),
        ...(return_token_ids === true && { token_ids: Reply.tokenIds([event.sequence]) })
      }
      return [calls, Object.keys(told).length === 0 ? [] : [{ delta: {}, ...told, finish_reason: null }]]
    }
    const delta = OpenAi.fromDelta(event, calls)
    return [calls + (delta.tool_calls?.length ?? 0), [{ delta, finish_reason: null }]]
  }

const streamed = Effect.fnUntraced(function*(prompted: Prompted, notes: Notes, value: Wire.ChatCompletion) {
  const { model, return_token_ids, stream_options } = value
  const head = { ...(yield* OpenAiAnswer.head(prompted, "chatcmpl-", model)), object: "chat.completion.chunk" }
  const choices = choicesOf(prompted.chatModel.tokenizer, value)
  return yield* OpenAiStream.respond(
    {
      prompts: [prompted],
      notes,
      head,
      includeUsage: stream_options?.include_usage === true,
      ...(return_token_ids === true && { first: { prompt_token_ids: Reply.promptIds(prompted.request.prompt) } })
    },
    (events) => Stream.concat(Stream.succeed(opening), Stream.mapAccum(events, () => 0, choices))
  )
})

/** The structure that a request asks of its replies. */
const wantedOf = (value: Wire.ChatCompletion): Structure.Wanted => {
  const { parallel_tool_calls, response_format: format, tool_choice: choice, tools } = value
  const schema = format?.type === "json_schema" ? format.json_schema.schema ?? {} : undefined
  const isNamed = typeof choice === "object" && choice !== null
  const strict = (tools ?? []).filter((tool) => tool.function.strict === true)
  return {
    ...((format?.type === "json_object" || format?.type === "json_schema") && {
      format: { field: "response_format", type: format.type, schema }
    }),
    ...((choice === "required" || isNamed) && {
      forced: { value: choice, name: isNamed ? choice.function.name : undefined }
    }),
    isOneCall: parallel_tool_calls === false,
    strict: { field: "tools[].function.strict", names: strict.map((tool) => tool.function.name) }
  }
}

const effortOf = ({ chat_template_kwargs: template, reasoning_effort }: Wire.ChatCompletion) => {
  const value = template?.enable_thinking
  return typeof value === "boolean"
    ? Effect.succeed({ field: "chat_template_kwargs", value: template, effort: value ? "on" : "off" } as const)
    : Reasoning.byWord("reasoning_effort", reasoning_effort)
}

const read = ClientBody.reading({
  kind: "chat completions",
  schema: Wire.ChatCompletion,
  tools: ["function"]
})

export const handler = (incoming: Incoming) =>
  Effect.gen(function*() {
    const { notes, value } = yield* read(incoming)
    const messages = yield* Effect.mapError(
      OpenAi.toMessages(value.messages),
      ({ field, message }) => invalid(message, field)
    )
    const tools = value.tool_choice === "none" ? [] : (value.tools ?? []).map(OpenAi.toToolSpec)
    const renderer = yield* Reasoning.choose(incoming, notes, value.model, yield* effortOf(value))
    const { answerer } = incoming
    const asked = { messages, tools, renderer }
    const grammar = yield* Structure.grammar({ answerer, notes, model: value.model, asked }, wantedOf(value))
    const prompted = yield* answerer.prompted(value.model, asked, {
      grammar,
      ...settingsOf({ ...value, max_tokens: value.max_completion_tokens ?? value.max_tokens ?? null }),
      isOneCall: value.parallel_tool_calls === false,
      topLogprobs: yield* OpenAiAnswer.alternatives(
        { answerer, notes },
        value.model,
        "top_logprobs",
        yield* OpenAiAnswer.topLogprobs(value.top_logprobs, value.logprobs === true, "logprobs is not true")
      )
    })
    return yield* value.stream === true ? streamed(prompted, notes, value) : whole(prompted, notes, value)
  })
