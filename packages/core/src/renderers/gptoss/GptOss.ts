/**
 * gpt-oss in OpenAI's Harmony format: every assistant message names its channel.
 *
 * @example
 * GptOss.gptOssHighReasoning(tokenizer, { currentDate: "2026-11-22" }).pipe(
 *   Effect.flatMap((renderer) => renderer.generationPrompt(messages))
 * )
 */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Message from "../../chat/Message.ts"
import { type Renderer, RendererError } from "../../chat/Renderer.ts"
import type { Tokenizer } from "../../chat/Tokenizer.ts"
import * as ChatTemplate from "../ChatTemplate.ts"
import * as Markup from "../Markup.ts"
import * as TemplateRenderer from "../TemplateRenderer.ts"
import * as Harmony from "./Harmony.ts"
import * as HarmonyReader from "./HarmonyReader.ts"
import * as HarmonyTools from "./HarmonyTools.ts"

interface Variant {
  readonly name: string
  readonly effort?: "low" | "medium" | "high"
}

/** Options of a renderer in the Harmony format. */
export interface Options {
  /** The date in the system message, `YYYY-MM-DD`; default: today in UTC. */
  readonly currentDate?: string
}

/** Messages of this role become the model's system message; messages of role `system` become the developer's. */
export const systemRole = "_gptoss_internal_system"

const systemText = (effort: string, date: string) =>
  [
    "You are ChatGPT, a large language model trained by OpenAI.",
    "Knowledge cutoff: 2024-06",
    `Current date: ${date}\n`,
    `Reasoning: ${effort}\n`,
    "# Valid channels: analysis, commentary, final. Channel must be included for every message."
  ].join("\n")

const today = Effect.map(DateTime.now, DateTime.formatIsoDateUtc)

const prepare = Effect.fnUntraced(function*(
  { effort }: Variant,
  { currentDate }: Options,
  messages: ReadonlyArray<Message.Message>
) {
  if (effort === undefined) return messages
  const content = systemText(effort, currentDate ?? (yield* today))
  return [{ role: systemRole, content }, ...messages]
})

const roleOf = (role: string) => role === systemRole ? "system" : role === "system" ? "developer" : role

const toolName = (name: string | undefined) => {
  const known = name === undefined || name === "" ? "unknown" : name
  return known.startsWith("functions.") ? known : `functions.${known}`
}

const header = (message: Pick<Message.Message, "role" | "name">): Markup.Markup =>
  message.role === "tool"
    ? ["<|start|>", Markup.plain(toolName(message.name)), " to=assistant"]
    : ["<|start|>", Markup.plain(roleOf(message.role))]

const body = Effect.fnUntraced(function*(
  renderer: string,
  message: Message.Message,
  place: ChatTemplate.Place
): Effect.fn.Return<Markup.Markup, RendererError> {
  if (message.role === "assistant") {
    if (Message.parts(message).some((part) => part.type === "image")) {
      return yield* ChatTemplate.refusePart(renderer, message.role, "image")
    }
    return Harmony.write(message, place.isLast)
  }
  const text = Markup.textOf(message.role, yield* ChatTemplate.onlyText(renderer, message))
  if (message.role === "tool") return ["<|channel|>commentary<|message|>", text, "<|end|>"]
  return message.role === "system"
    ? ["<|message|># Instructions\n\n", text, "\n\n<|end|>"]
    : ["<|message|>", text, "<|end|>"]
})

/** Fails if a response contains the same stop twice, because it was then not sampled with these stops. */
const checkStops = (name: string, tokens: Int32Array, stops: ReadonlyArray<number>) => {
  const repeated = stops.find((stop) => tokens.indexOf(stop) !== tokens.lastIndexOf(stop))
  if (repeated === undefined) return Effect.void
  const detail = `expected at most one stop token ${repeated} in a response; was it sampled with this renderer's stop?`
  return Effect.fail(new RendererError({ renderer: name, detail }))
}

const parse = Effect.fnUntraced(function*(
  name: string,
  tokenizer: Tokenizer,
  stops: ReadonlyArray<number>,
  tokens: Int32Array
) {
  yield* checkStops(name, tokens, stops)
  const at = tokens.findIndex((token) => stops.includes(token))
  if (at === -1) return { message: Message.assistant(tokenizer.decode(tokens)), termination: "malformed" as const }
  const message = Harmony.read(tokenizer.decode(tokens.subarray(0, at)))
  return { message, termination: "stop_sequence" as const }
})

const make = (variant: Variant) =>
  Effect.fnUntraced(function*(
    tokenizer: Tokenizer,
    options: Options = {}
  ): Effect.fn.Return<Renderer, RendererError> {
    const { name } = variant
    const encoder = yield* Markup.encoder(name, tokenizer, Harmony.controls)
    const stops = ["<|return|>", "<|call|>"].map(encoder.id)
    return TemplateRenderer.make({
      name,
      tokenizer,
      stop: stops,
      hasExtensionProperty: false,
      disablesThinking: false,
      beginning: new Int32Array(),
      prepare: (messages) => prepare(variant, options, messages),
      message: (message, place) =>
        Effect.map(body(name, message, place), (markup) => ({
          header: encoder.encode(header(message)),
          output: [encoder.encode(markup)]
        })),
      generationHeader: (role) => Effect.sync(() => encoder.encode(header({ role }))),
      parse: (tokens) => parse(name, tokenizer, stops, tokens),
      reader: () => HarmonyReader.make,
      toolsPrefix: (tools, systemPrompt) => Effect.sync(() => HarmonyTools.prefix(systemRole, tools, systemPrompt))
    })
  })

/** A renderer that adds no system message, except the one that `toolsPrefix` returns for tools. @see tinker-cookbook `GptOssRenderer` */
export const gptOssNoSystemPrompt = make({ name: "gpt_oss_no_sysprompt" })

/** A renderer that asks for low reasoning effort. It adds the model's own system message, which states the date and the effort. */
export const gptOssLowReasoning = make({ name: "gpt_oss_low_reasoning", effort: "low" })
/** A renderer that asks for medium reasoning effort, with the model's own system message. */
export const gptOssMediumReasoning = make({ name: "gpt_oss_medium_reasoning", effort: "medium" })
/** A renderer that asks for high reasoning effort, with the model's own system message. */
export const gptOssHighReasoning = make({ name: "gpt_oss_high_reasoning", effort: "high" })
