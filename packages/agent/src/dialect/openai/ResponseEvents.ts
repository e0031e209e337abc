/** The streaming events of the Responses API: items that open, grow and close. */
import type { Message } from "@effect-rl/core"
import type { ResponseStream } from "@effect-rl/core/renderers"
import type * as OpenAiAnswer from "./OpenAiAnswer.ts"
import * as ResponseItems from "./ResponseItems.ts"

export interface Event {
  readonly type: string
  readonly [field: string]: unknown
}

type Logprobs = ReadonlyArray<OpenAiAnswer.Logprob>

/** The completed items, and the item that is still growing. */
export interface Output {
  readonly items: ReadonlyArray<ResponseItems.Item>
  readonly open: ResponseItems.Item | undefined
  /** Log-probabilities of tokens whose text has not been sent yet. */
  readonly unsent: Logprobs
}

export const nothing: Output = { items: [], open: undefined, unsent: [] }

/** Adds log-probabilities, which are sent with the next piece of text. */
export const sampled = (output: Output, logprobs: Logprobs): Output => ({
  ...output,
  unsent: [...output.unsent, ...logprobs]
})

const names = {
  message: "response.output_text",
  reasoning: "response.reasoning_text",
  function_call: "response.function_call_arguments",
  custom_tool_call: "response.custom_tool_call_input"
}

/** The position of an item in the response. */
const placeOf = (id: string, item: ResponseItems.Item, index: number) => ({
  item_id: ResponseItems.idOf(id, item, index),
  output_index: index,
  ...(ResponseItems.isCall(item) ? {} : { content_index: 0 })
})

const begun = (id: string, item: ResponseItems.Item, index: number): ReadonlyArray<Event> => [
  {
    type: "response.output_item.added",
    output_index: index,
    item: ResponseItems.shown(id, item, index, "in_progress")
  },
  ...(ResponseItems.isCall(item) ? [] : [{
    type: "response.content_part.added",
    ...placeOf(id, item, index),
    part: ResponseItems.partOf({ ...item, text: "" })
  }])
]

const grown = (id: string, { logprobs = [], ...item }: ResponseItems.Item, index: number): Event => ({
  type: `${names[item.kind]}.delta`,
  ...placeOf(id, item, index),
  delta: item.text,
  ...(item.kind === "message" ? { logprobs } : {})
})

/** The completed item. A finished message also includes the log-probabilities of tokens without text, such as the model's stop. */
const completed = ({ open, unsent }: Output): ResponseItems.Item | undefined =>
  open?.kind === "message" ? { ...open, logprobs: [...open.logprobs ?? [], ...unsent] } : open

/** The events that close the open item; none if no item is open. */
export const closed = (id: string, output: Output): ReadonlyArray<Event> => {
  const { items } = output
  const open = completed(output)
  if (open === undefined) return []
  const { kind, logprobs = [], text } = open
  const index = items.length
  const place = placeOf(id, open, index)
  const done = { type: `${names[kind]}.done`, ...place }
  const last = { type: "response.output_item.done", output_index: index }
  const item = ResponseItems.shown(id, open, index, "completed")
  if (ResponseItems.isCall(open)) {
    return [{ ...done, name: open.call?.name, ...ResponseItems.given(open) }, { ...last, item }]
  }
  return [
    { ...done, text, ...(kind === "message" ? { logprobs } : {}) },
    { type: "response.content_part.done", ...place, part: ResponseItems.partOf(open) },
    { ...last, item }
  ]
}

/** Converts a tool call to an item. */
type Called = (call: Message.ToolCall) => ResponseItems.Item

const itemOf = (delta: ResponseStream.Delta, called: Called): ResponseItems.Item => {
  switch (delta._tag) {
    case "Text":
      return { kind: "message", text: delta.text }
    case "Thinking":
      return { kind: "reasoning", text: delta.thinking }
    case "ToolCall":
      return called(delta.toolCall)
    case "UnparsedToolCall":
      return { kind: "message", text: delta.unparsedToolCall.rawText }
  }
}

/** All items so far, including the open item. */
export const all = (output: Output) => {
  const open = completed(output)
  return open === undefined ? output.items : [...output.items, open]
}

const joined = (open: ResponseItems.Item, next: ResponseItems.Item): ResponseItems.Item => ({
  ...open,
  text: open.text + next.text,
  ...(open.kind === "message" ? { logprobs: [...open.logprobs ?? [], ...next.logprobs ?? []] } : {})
})

/** Adds a delta. A call arrives whole; text and reasoning grow. */
export const added = (
  id: string,
  output: Output,
  delta: ResponseStream.Delta,
  called: Called
): readonly [Output, ReadonlyArray<Event>] => {
  const { items, open, unsent } = output
  const item = itemOf(delta, called)
  const isText = item.kind === "message"
  const next = isText ? { ...item, logprobs: unsent } : item
  const left = isText ? [] : unsent
  if (open !== undefined && open.kind === next.kind && !ResponseItems.isCall(next)) {
    return [{ items, open: joined(open, next), unsent: left }, [grown(id, next, items.length)]]
  }
  const isAfterText = open?.kind === "message"
  const complete = all(output)
  const index = complete.length
  return [
    { items: complete, open: next, unsent: isAfterText ? [] : left },
    [...closed(id, output), ...begun(id, next, index), grown(id, next, index)]
  ]
}
