/** The Responses API, OpenAI's newer chat API. */
import type { Message } from "@effect-rl/core"
import type { Sampling } from "@effect-rl/core/backend"
import { OpenAi } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import type { Prompted } from "../Answerer.ts"
import * as ClientBody from "../ClientBody.ts"
import * as EventStream from "../EventStream.ts"
import type { Incoming } from "../Incoming.ts"
import type { Notes } from "../Notes.ts"
import * as Reasoning from "../Reasoning.ts"
import { invalid, Refusal } from "../Refusal.ts"
import * as Reply from "../Reply.ts"
import * as Structure from "../Structure.ts"
import * as KeptInput from "./KeptInput.ts"
import * as OpenAiAnswer from "./OpenAiAnswer.ts"
import * as Wire from "./OpenAiResponse.ts"
import * as ResponseEvents from "./ResponseEvents.ts"
import * as ResponseItems from "./ResponseItems.ts"
import * as ResponseTools from "./ResponseTools.ts"

/** The value of `include` that requests log-probabilities. */
const logprobs = "message.output_text.logprobs"

/** The fields of a response before sampling begins. */
const opening = ({ id, created, model }: { id: string; created: number; model: string }, value: Wire.Create) => ({
  id,
  object: "response",
  created_at: created,
  status: "in_progress",
  background: false,
  error: null,
  incomplete_details: null,
  instructions: value.instructions ?? null,
  max_output_tokens: value.max_output_tokens ?? null,
  metadata: value.metadata ?? {},
  model,
  output: [],
  parallel_tool_calls: value.parallel_tool_calls ?? true,
  previous_response_id: value.previous_response_id ?? null,
  reasoning: { effort: value.reasoning?.effort ?? null, summary: null },
  store: false,
  temperature: value.temperature ?? 1,
  text: { format: value.text?.format ?? { type: "text" } },
  tool_choice: value.tool_choice ?? "auto",
  tools: value.tools ?? [],
  top_logprobs: value.top_logprobs ?? 0,
  top_p: value.top_p ?? 1,
  truncation: "disabled",
  usage: null
})
type Opening = ReturnType<typeof opening>

const usageOf = ({ request: { prompt } }: Prompted, sampled: number) => ({
  input_tokens: prompt.length,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: sampled,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: prompt.length + sampled
})

const finished = (
  response: Opening,
  prompted: Prompted,
  ended: Reply.Ended,
  items: ReadonlyArray<ResponseItems.Item>
) => ({
  ...response,
  status: ended.isCut ? "incomplete" : "completed",
  incomplete_details: ended.isCut ? { reason: "max_output_tokens" } : null,
  output: items.map((item, index) => ResponseItems.shown(response.id, item, index, "completed")),
  ...Reply.warned(ended),
  usage: usageOf(prompted, ended.sampled)
})

/** Converts the log-probabilities of sampled tokens; yields none unless they were requested. */
type Shown = (sequences: ReadonlyArray<Sampling.SampledTokens>) => ReadonlyArray<OpenAiAnswer.Logprob>

/** A response in progress. */
interface Begun {
  readonly prompted: Prompted
  readonly notes: Notes
  readonly response: Opening
  readonly shown: Shown
  /** Keeps the answer for later requests that refer to it. */
  readonly keep: (items: ReadonlyArray<ResponseItems.Item>) => Effect.Effect<void>
  /** Converts a call of the client's tools to an item. */
  readonly called: (call: Message.ToolCall) => ResponseItems.Item
  /** Whether the finished response has the ids of all tokens. */
  readonly isWithIds: boolean
}

const whole = Effect.fnUntraced(function*({ called, isWithIds, keep, notes, prompted, response, shown }: Begun) {
  const [reply] = yield* Reply.whole(prompted, notes)
  if (reply === undefined) return yield* new Refusal({ status: 500, detail: "the backend sampled nothing" })
  const { ended, sequences } = reply
  const items = ResponseItems.fromMessage(ended.parsed.message, called, shown(sequences))
  yield* keep(items)
  return HttpServerResponse.jsonUnsafe({
    ...finished(response, prompted, ended, items),
    ...(isWithIds && Reply.allIds(prompted, reply))
  })
})

/** The output so far, and the events for what is new in it. */
type Told = readonly [ResponseEvents.Output, ReadonlyArray<ResponseEvents.Event>]

const eventsOf = ({ called, isWithIds, keep, prompted, response, shown }: Begun) => {
  const sequences: Array<Sampling.SampledTokens> = []
  return (output: ResponseEvents.Output, event: Reply.Event): Effect.Effect<Told> => {
    if (event._tag === "Sampled") {
      sequences.push(event.sequence)
      return Effect.succeed([ResponseEvents.sampled(output, shown([event.sequence])), []])
    }
    if (event._tag !== "Ended") return Effect.succeed(ResponseEvents.added(response.id, output, event, called))
    const items = ResponseEvents.all(output)
    const last = {
      ...finished(response, prompted, event, items),
      ...(isWithIds && Reply.allIds(prompted, { sequences }))
    }
    const ending = { type: `response.${last.status}`, response: last }
    return Effect.as(keep(items), [output, [...ResponseEvents.closed(response.id, output), ending]])
  }
}

const sent = (event: ResponseEvents.Event, index: number): EventStream.Event => ({
  event: event.type,
  data: JSON.stringify({ ...event, sequence_number: index })
})

const failed = (response: Opening) => (refusal: Refusal): ReadonlyArray<EventStream.Event> => {
  const { code, message, type } = OpenAiAnswer.error(refusal)
  const error = { code: code ?? type, message }
  const event = { type: "response.failed", response: { ...response, status: "failed", error } }
  return [{ event: event.type, data: JSON.stringify(event) }]
}

const streamed = (begun: Begun) => {
  const { notes, prompted, response } = begun
  const opened: ReadonlyArray<ResponseEvents.Event> = [
    { type: "response.created", response },
    { type: "response.in_progress", response }
  ]
  const events = Stream.fromIterable(opened).pipe(
    Stream.concat(
      Stream.mapAccumEffect(Reply.stream(prompted, notes), () => ResponseEvents.nothing, eventsOf(begun))
    ),
    Stream.zipWithIndex,
    Stream.map(([event, index]) => sent(event, index))
  )
  return EventStream.respond(events, failed(response))
}

/** The structure requested of the response. */
const wantedOf = (
  { parallel_tool_calls, text, tool_choice: choice }: Wire.Create,
  tools: ReadonlyArray<ResponseTools.ClientTool>
): Structure.Wanted => {
  const format = text?.format
  const isNamed = typeof choice === "object" && choice !== null
  return {
    ...((format?.type === "json_object" || format?.type === "json_schema") && {
      format: {
        field: "text.format",
        type: format.type,
        schema: format.type === "json_schema" ? format.schema : undefined
      }
    }),
    ...((choice === "required" || isNamed) && {
      forced: { value: choice, name: isNamed ? ResponseTools.nameOf(choice.name, choice.namespace) : undefined }
    }),
    isOneCall: parallel_tool_calls === false,
    strict: { field: "tools[].strict", names: ResponseTools.strict(tools) }
  }
}

const read = ClientBody.reading({ kind: "responses", schema: Wire.Create, tools: ["function", "custom", "namespace"] })

export const handler = (incoming: Incoming) =>
  Effect.gen(function*() {
    const { notes, value } = yield* read(incoming)
    const { kept } = incoming
    const input = yield* KeptInput.resolve(kept, value)
    const messages = yield* OpenAi.toMessages(ResponseItems.toMessages(input.all, value.instructions)).pipe(
      Effect.mapError(({ message }) => invalid(`input: ${message}`, "input"))
    )
    const own = ResponseTools.all(value)
    yield* ResponseTools.checkInputs(notes, own)
    const tools = value.tool_choice === "none" ? [] : own.map(({ spec }) => spec)
    const effort = yield* Reasoning.byWord("reasoning.effort", value.reasoning?.effort)
    const renderer = yield* Reasoning.choose(incoming, notes, value.model, effort)
    const hasLogprobs = (value.include ?? []).includes(logprobs)
    const { answerer } = incoming
    const asked = { messages, tools, renderer }
    const prompted = yield* answerer.prompted(value.model, asked, {
      grammar: yield* Structure.grammar({ answerer, notes, model: value.model, asked }, wantedOf(value, own)),
      maxTokens: value.max_output_tokens,
      temperature: value.temperature,
      topP: value.top_p,
      isOneCall: value.parallel_tool_calls === false,
      topLogprobs: yield* OpenAiAnswer.alternatives(
        { answerer, notes },
        value.model,
        "top_logprobs",
        yield* OpenAiAnswer.topLogprobs(value.top_logprobs, hasLogprobs, `include does not have "${logprobs}"`)
      ),
      stops: []
    })
    const { tokenizer } = prompted.chatModel
    const shown: Shown = (sequences) => hasLogprobs ? OpenAiAnswer.logprobs(tokenizer, sequences) : []
    const response = opening(yield* OpenAiAnswer.head(prompted, "resp_", value.model), value)
    const keep: Begun["keep"] = (items) =>
      Effect.sync(() => {
        const output = items.map((item, index) => ResponseItems.sent(response.id, item, index))
        if (kept !== undefined) KeptInput.keep(kept, response.id, input, output)
      })
    const isWithIds = value.return_token_ids === true
    const begun: Begun = { prompted, notes, response, shown, keep, called: ResponseTools.reading(own), isWithIds }
    return value.stream === true ? streamed(begun) : yield* whole(begun)
  })
