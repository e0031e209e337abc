/**
 * Plain text with `User:` and `Assistant:` prefixes, for base models without a chat format. There are no control tokens, so message text
 * that contains such a prefix reads as a new turn.
 */
import * as Effect from "effect/Effect"
import * as Message from "../chat/Message.ts"
import type { Parsed, Renderer, RendererError, Termination } from "../chat/Renderer.ts"
import type { Tokenizer } from "../chat/Tokenizer.ts"
import * as ChatTemplate from "./ChatTemplate.ts"
import type { MakeReader } from "./DeltaSink.ts"
import * as MarkerText from "./MarkerText.ts"
import * as Markup from "./Markup.ts"
import * as TemplateRenderer from "./TemplateRenderer.ts"

const name = "role_colon"
const stop = "\n\nUser:"

const capitalize = (role: string) => {
  const [first = ""] = role
  const upper = first.toUpperCase()
  return upper.slice(0, first.length) + upper.slice(first.length).toLowerCase() + role.slice(first.length).toLowerCase()
}

const header = (role: string) => `${capitalize(role)}:`

const trim = (text: string) => {
  const start = text.startsWith(" ") ? 1 : 0
  return text.endsWith("\n\n") ? text.slice(start, -2) : text.slice(start)
}

const terminationOf = (stops: number, ended: boolean): Termination => {
  if (stops === 0) return ended ? "eos" : "malformed"
  return stops === 1 && !ended ? "stop_sequence" : "malformed"
}

const parse = (tokenizer: Tokenizer, tokens: Int32Array): Parsed => {
  const ended = tokens.length > 0 && tokens.at(-1) === tokenizer.eosTokenId
  const [first = "", ...rest] = tokenizer.decode(ended ? tokens.subarray(0, -1) : tokens).split(stop)
  return { message: Message.assistant(trim(first)), termination: terminationOf(rest.length, ended) }
}

/** Passes on the text before the stop. It holds back trailing line breaks and text that may be the beginning of the stop. */
const reader: MakeReader = (sink) => {
  let buffer = ""
  let isFirst = true
  let isStopped = false
  const write = (length: number) => {
    const text = buffer.slice(0, length)
    buffer = buffer.slice(length)
    sink.text(isFirst && text.startsWith(" ") ? text.slice(1) : text)
    isFirst &&= text === ""
  }
  const heldFrom = (end: number) => {
    const lines = /\n{0,2}$/.exec(buffer.slice(0, end))
    return end - (lines?.[0].length ?? 0)
  }
  return {
    write: (text) => {
      if (isStopped) return
      buffer += text
      const found = buffer.indexOf(stop)
      isStopped = found !== -1
      if (isStopped) buffer = buffer.slice(0, found)
      else write(heldFrom(MarkerText.safeLength(buffer, [stop])))
    },
    end: () => write(buffer.endsWith("\n\n") ? buffer.length - 2 : buffer.length)
  }
}

/**
 * The renderer of plain text with role prefixes. The stop is text, so the next speaker's `User:` is trained as the end of the last
 * assistant turn. An example that ends with another role gets no such ending.
 *
 * @example
 * RoleColon.roleColon(tokenizer).pipe(Effect.flatMap((renderer) => renderer.generationPrompt(messages)))
 *
 * @see tinker-cookbook `RoleColonRenderer`
 */
export const roleColon = (tokenizer: Tokenizer): Effect.Effect<Renderer, RendererError> =>
  Effect.succeed(TemplateRenderer.make({
    name,
    tokenizer,
    stop: [stop],
    hasExtensionProperty: true,
    disablesThinking: false,
    beginning: tokenizer.encode(tokenizer.bosToken ?? ""),
    message: (message) =>
      Effect.map(ChatTemplate.onlyText(name, message), (text) => ({
        header: tokenizer.encode(header(message.role)),
        output: [tokenizer.encode(` ${text}\n\n`, { splitSpecialTokens: !Markup.isDeveloper(message.role) })],
        ...(message.role === "assistant" ? { stopOverlap: tokenizer.encode("User:") } : {})
      })),
    generationHeader: (role) => Effect.sync(() => tokenizer.encode(header(role))),
    parse: (tokens) => Effect.sync(() => parse(tokenizer, tokens)),
    reader: () => reader
  }))
