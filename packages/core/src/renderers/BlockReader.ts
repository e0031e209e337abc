/** Reads responses with thinking and tool-call blocks while they arrive. */
import * as Result from "effect/Result"
import type { ToolCall, UnparsedToolCall } from "../chat/Message.ts"
import * as ContentBlocks from "./ContentBlocks.ts"
import type { DeltaSink, MakeReader } from "./DeltaSink.ts"
import * as MarkerText from "./MarkerText.ts"
import * as TrimmedText from "./TrimmedText.ts"

type Calls = ReadonlyArray<Result.Result<ToolCall, UnparsedToolCall>>

/** How one model family writes thinking blocks and tool-call blocks. */
export interface Blocks {
  /** Whether the prompt ends inside a thinking block. */
  readonly opensThinking: boolean
  /** Whether a response may start with a closing tag although its prompt has already closed the thinking block. */
  readonly mayCloseAgain: boolean
  /** The white space that is dropped around thinking. */
  readonly aroundThinking: TrimmedText.Space
  /** The white space that is dropped between a thinking block and the answer. */
  readonly beforeAnswer: TrimmedText.Space
  /** The white space that is dropped before calls. */
  readonly beforeCalls: TrimmedText.Space
  /** Pairs of markers; a pair encloses one call or several. */
  readonly calls: ReadonlyArray<readonly [open: string, close: string]>
  /** Parses the calls of one block, given with and without its markers. */
  readonly read: (block: string, inside: string) => Calls
  /** Whether the block's calls come after all others in the message, wherever the block was written. */
  readonly isLate: (block: string) => boolean
  /** Whether the message ends with its first call block, even if none of its calls can be parsed. */
  readonly endsWithCalls: boolean
}

type State =
  | { readonly at: "start" }
  | { readonly at: "text" }
  | { readonly at: "thinking" }
  | { readonly at: "calls"; readonly open: string; readonly close: string }
  | { readonly at: "end" }

/** Makes a reader of responses in the form that `blocks` describes. */
export const make = (blocks: Blocks): MakeReader => (sink: DeltaSink) => {
  const openings = [ContentBlocks.openThinking, ...blocks.calls.map(([open]) => open)]
  const thinking = TrimmedText.make(sink.thinking, blocks.aroundThinking, blocks.aroundThinking)
  let answer = TrimmedText.make(sink.text, "nothing", blocks.beforeCalls)
  let state: State = { at: blocks.opensThinking ? "thinking" : blocks.mayCloseAgain ? "start" : "text" }
  let buffer = ""
  let isFirst = blocks.opensThinking
  let thought = blocks.opensThinking
  let hasCalled = false
  const late: Array<Result.Result<ToolCall, UnparsedToolCall>> = []

  const startText = (isBehindThinking: boolean) => {
    answer = TrimmedText.make(sink.text, isBehindThinking ? blocks.beforeAnswer : "nothing", blocks.beforeCalls)
    state = { at: "text" }
  }

  /** Writes the text before the next marker and returns the marker. Without a marker, an ending that may begin one is held back. */
  const takeUntil = (markers: ReadonlyArray<string>, write: (text: string) => void): string | undefined => {
    const found = MarkerText.first(buffer, markers)
    const length = found?.index ?? MarkerText.safeLength(buffer, markers)
    write(buffer.slice(0, length))
    buffer = buffer.slice(length + (found?.marker.length ?? 0))
    return found?.marker
  }

  const readStart = () => {
    const text = TrimmedText.stripStart(buffer, blocks.aroundThinking)
    if (text.startsWith(ContentBlocks.closeThinking)) {
      buffer = text.slice(ContentBlocks.closeThinking.length)
      startText(true)
      return true
    }
    if (ContentBlocks.closeThinking.startsWith(text)) return false
    startText(false)
    return true
  }

  const readText = () => {
    const marker = takeUntil(openings, answer.write)
    if (marker === undefined) return false
    if (marker === ContentBlocks.openThinking) {
      answer.end("keep")
      sink.endPart()
      thought = false
      state = { at: "thinking" }
      return true
    }
    const close = blocks.calls.find(([open]) => open === marker)?.[1] ?? ""
    state = { at: "calls", open: marker, close }
    return true
  }

  const readThinking = () => {
    if (isFirst && buffer.startsWith(ContentBlocks.openThinking)) {
      buffer = buffer.slice(ContentBlocks.openThinking.length)
      thought = false
    } else if (isFirst && ContentBlocks.openThinking.startsWith(buffer)) {
      return false
    }
    isFirst = false
    const marker = takeUntil([ContentBlocks.closeThinking], (text) => {
      thought ||= text !== ""
      thinking.write(text)
    })
    if (marker === undefined) return false
    thinking.end("drop")
    sink.endPart()
    startText(thought)
    return true
  }

  const readCalls = (open: string, close: string) => {
    const at = buffer.indexOf(close)
    if (at === -1) return false
    const inside = buffer.slice(0, at)
    buffer = buffer.slice(at + close.length)
    const block = open + inside + close
    const calls = blocks.read(block, inside)
    const isText = calls.length === 0 && !blocks.endsWithCalls
    answer.end(isText ? "keep" : "drop")
    if (isText) sink.text(block)
    else sink.endPart()
    hasCalled ||= !isText
    for (const call of calls) {
      if (Result.isSuccess(call) && blocks.isLate(block)) late.push(call)
      else sink.call(call)
    }
    if (blocks.endsWithCalls) state = { at: "end" }
    else startText(false)
    return true
  }

  const step = (): boolean => {
    if (buffer === "" || state.at === "end") return false
    if (state.at === "calls") return readCalls(state.open, state.close)
    if (state.at === "start") return readStart()
    return state.at === "text" ? readText() : readThinking()
  }

  return {
    write: (text) => {
      buffer += text
      while (step());
    },
    end: () => {
      if (state.at === "text" || state.at === "start") answer.write(buffer)
      if (state.at === "thinking") thinking.write(buffer)
      if (state.at === "calls") answer.write(state.open + buffer)
      answer.end(hasCalled ? "drop" : "keep")
      thinking.end("drop")
      for (const call of late) sink.call(call)
    }
  }
}

/** Default properties of blocks: the prompt opens no thinking block, no white space is dropped, and calls keep their order. */
export const plain: Omit<Blocks, "calls" | "read"> = {
  opensThinking: false,
  mayCloseAgain: false,
  aroundThinking: "nothing",
  beforeAnswer: "nothing",
  beforeCalls: "nothing",
  isLate: () => false,
  endsWithCalls: false
}
