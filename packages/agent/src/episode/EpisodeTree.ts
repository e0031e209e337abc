/**
 * The tree of what was read and sampled in one episode of an agent, to which each of its requests is matched.
 *
 * What always holds:
 *
 * - A turn is added once, after its tokens were sampled, and never changed. Its index is its place in the episode's trajectory.
 * - A request is matched by what its messages say (see `Spoken`), never by text or tokens. It continues the turn whose conversation, with
 *   its response, is the longest beginning of the request's own.
 * - The prompt of a request that continues a turn begins with that turn's prompt and sampled tokens, token for token; or it says in
 *   `branch` that it is rendered anew, and why.
 * - A prompt without `branch` continues the turn that was added last before it, or is the first.
 * - A text that is to be continued has no messages: it continues the turn of text that it begins with, as its client was told that turn. Its
 *   prompt has the tokens that were sampled, and new ones for what follows them.
 */
import { Message } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { Branch, Continuation } from "@effect-rl/core/environments"
import type { Renderer, Tokenizer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import type { Continuing } from "../dialect/Answerer.ts"
import * as Spoken from "./Spoken.ts"

/** A request of an agent for the next response. */
export interface Request {
  readonly renderer: Renderer.Renderer
  /** The conversation as it is rendered, with the messages about its tools and without the beginning of its response. */
  readonly messages: ReadonlyArray<Message.Message>
  /** The beginning of the response; empty for a new one. */
  readonly prefill: string
  /** The number of turns that had been added when it arrived. */
  readonly arrived: number
}

/** A request of an agent for the continuation of a text. */
export interface TextRequest extends Pick<Request, "arrived"> {
  readonly text: Continuing
  readonly tokenizer: Tokenizer.Tokenizer
}

/** A request with its place in the tree. */
export interface Placed extends Pick<Request, "messages" | "prefill"> {
  /** The prompt. */
  readonly input: ModelInput.ModelInput
  readonly branch?: Branch.Branch
  /** The text that is continued, and how its tokens are read; absent for a conversation. */
  readonly text?: { readonly given: string; readonly decode: Tokenizer.Tokenizer["decode"] }
}

type PlacedText = Placed & Required<Pick<Placed, "text">>

/** A response as it was sampled, and as the agent was told it. */
export type Response = Pick<Continuation.Turn, "response" | "parsed">

/** The mutable state of one episode. */
export interface EpisodeTree {
  /** The prompt of the request's turn. */
  readonly place: (request: Request) => Effect.Effect<Placed, Renderer.RendererError>
  /** The prompt of a text's turn; without tokens for an empty text. */
  readonly placeText: (request: TextRequest) => Placed
  /** Adds the turn. */
  readonly add: (placed: Placed, response: Response) => void
  /** The number of turns. */
  readonly turns: () => number
}

/** A place in the conversations: what was said up to it is the path that leads to it. */
interface Node {
  readonly next: Map<string, Node>
  /** Turns whose response ends here. */
  readonly ended: Array<number>
  /** Turns that were asked here. */
  readonly asked: Array<number>
}

const node = (): Node => ({ next: new Map(), ended: [], asked: [] })

interface Turn extends Continuation.Turn {
  readonly conversation: ReadonlyArray<Message.Message>
}

/** A turn of text. */
interface TextTurn {
  readonly turn: number
  readonly text: string
  /** The text with what its client was told. */
  readonly told: string
  /** Whether that is all that was sampled, without an end. */
  readonly isWhole: boolean
  readonly asked: ModelInput.ModelInput
  /** The prompt with the response. */
  readonly whole: ModelInput.ModelInput
}

interface State {
  readonly root: Node
  readonly turns: Array<Turn>
  readonly texts: Array<TextTurn>
  /** Turns that another one continues. */
  readonly continued: Set<number>
  /** What was said in any conversation, apart from instructions. */
  readonly said: Set<string>
  /** The instructions of all conversations. */
  readonly instructions: Set<string>
}

/** Where a request leaves the conversations that are known. */
interface Found {
  /** The turn that it continues; −1 without one. */
  readonly turn: number
  /** How many of its messages that turn has read and said. */
  readonly kept: number
  /** Turns that were asked exactly this. */
  readonly same: ReadonlyArray<number>
}

/** Of turns whose conversations say the same, the last that none continues yet. */
const chosen = ({ continued }: State, turns: ReadonlyArray<number>) =>
  turns.findLast((turn) => !continued.has(turn)) ?? turns.at(-1)

const find = (state: State, spoken: ReadonlyArray<Spoken.Spoken>): Found => {
  let [turn, kept] = [-1, 0]
  let at: Node | undefined = state.root
  for (const { digest, end } of spoken) {
    at = at.next.get(digest)
    if (at === undefined) break
    const ended = chosen(state, at.ended)
    if (ended !== undefined) [turn, kept] = [ended, end]
  }
  return { turn, kept, same: at?.asked ?? [] }
}

const walk = (root: Node, spoken: ReadonlyArray<Spoken.Spoken>) => {
  let at = root
  for (const { digest } of spoken) {
    const next = at.next.get(digest) ?? node()
    at.next.set(digest, next)
    at = next
  }
  return at
}

/** Instructions say nothing about a conversation: many have the same. */
const isSaid = ({ role }: Spoken.Spoken) => role !== "system" && role !== "developer"

/** Shorter responses may occur in any text. */
const leastQuoted = 16

/** Whether a message quotes an earlier response, as the summary of a conversation does. */
const quotes = ({ turns }: State, messages: ReadonlyArray<Message.Message>) => {
  const responses = turns.map(({ parsed }) => Message.text(parsed.message).trim())
  return messages.some((message) => {
    const text = Message.text(message)
    return responses.some((response) => response.length >= leastQuoted && text.includes(response))
  })
}

/** What was said by others than users: agents give the same words of a user to several conversations. */
const isAnswer = ({ role }: Pick<Message.Message, "role">) => role === "assistant" || role === "tool"

const instructionsOf = (spoken: ReadonlyArray<Spoken.Spoken>) =>
  spoken.flatMap((one) => isSaid(one) ? [] : [one.digest]).join()

/** Whether a request repeats what users said in another conversation, under instructions or with a task of its own. */
const isOther = ({ instructions, said }: State, spoken: ReadonlyArray<Spoken.Spoken>) => {
  const last = spoken.findLast(isSaid)
  return !instructions.has(instructionsOf(spoken)) || last === undefined || !said.has(last.digest)
}

/** Why a request begins a conversation anew. */
const reasonAnew = (state: State, { messages }: Request, spoken: ReadonlyArray<Spoken.Spoken>): Branch.Reason => {
  const isKnown = (one: Spoken.Spoken) => isSaid(one) && state.said.has(one.digest)
  const keepsAnswers = spoken.some((one) => isAnswer(one) && isKnown(one))
  // Some agents keep the last answers beside a summary of those before.
  if (quotes(state, keepsAnswers ? messages.filter((message) => !isAnswer(message)) : messages)) return "compaction"
  if (!keepsAnswers && isOther(state, spoken)) return "subagent"
  const before = state.turns.at(-1)?.conversation.length ?? 0
  return messages.length < before ? "compaction" : "edit"
}

/** Why a request continues an earlier turn than the last, or none. */
const reasonOf = (
  state: State,
  request: Request,
  spoken: ReadonlyArray<Spoken.Spoken>,
  { kept, same, turn }: Found
): Branch.Reason => {
  if (same.length > 0) return same.some((earlier) => earlier < request.arrived) ? "retry" : "parallel"
  if (turn < 0) return reasonAnew(state, request, spoken)
  return request.messages.slice(kept).some(({ role }) => role === "assistant") ? "edit" : "parallel"
}

const prefilled = (prefill: string) => prefill === "" ? {} : { prefill }

const begin = Effect.fnUntraced(function*({ messages, prefill, renderer }: Request) {
  return { messages, prefill, input: yield* renderer.generationPrompt(messages, prefilled(prefill)) }
})

const goOn = Effect.fnUntraced(function*(turn: Turn, request: Request, kept: number) {
  const { prefill, renderer } = request
  const rest = Spoken.named(request.messages, turn.conversation).slice(kept)
  const messages = [...turn.conversation, ...rest]
  const continued = yield* Continuation.next(renderer, turn, messages, prefilled(prefill))
  return { messages, prefill, ...continued }
})

const place = Effect.fnUntraced(function*(state: State, request: Request) {
  const { turns } = state
  const spoken = Spoken.of(request.messages)
  const found = find(state, spoken)
  const turn = turns[found.turn]
  const placed: Placed = turn === undefined
    ? yield* begin(request)
    : yield* goOn(turn, request, found.kept)
  if (placed.branch !== undefined || found.turn === turns.length - 1) return placed
  return { ...placed, branch: { after: found.turn, reason: reasonOf(state, request, spoken, found) } }
})

/** The turns of text with which the request begins, the longest of them. */
const longest = ({ texts }: State, begins: (turn: TextTurn) => boolean) => {
  const found = texts.filter(begins)
  const length = Math.max(...found.map(({ told }) => told.length))
  return found.filter(({ told }) => told.length === length)
}

/** Why a text continues an earlier turn than the last, or none; a text that begins like an earlier one was edited behind it. */
const textReason = ({ texts }: State, arrived: number, placed: PlacedText, turn: number): Branch.Reason => {
  const { input, text: { given } } = placed
  const same = texts.filter(({ asked }) => ModelInput.after(input, asked)?.length === 0)
  if (same.length > 0) return same.some((earlier) => earlier.turn < arrived) ? "retry" : "parallel"
  if (turn >= 0) return "parallel"
  return texts.some((earlier) => given.startsWith(earlier.text)) ? "edit" : "subagent"
}

const placeText = (state: State, { arrived, text: given, tokenizer }: TextRequest): Placed => {
  const tokens = typeof given === "string" ? undefined : ModelInput.fromTokens(given)
  const text = typeof given === "string" ? given : tokenizer.decode(given)
  const found = longest(
    state,
    ({ told, whole }) => tokens === undefined ? text.startsWith(told) : ModelInput.after(tokens, whole) !== undefined
  )
  const turn = chosen(state, found.map(({ turn }) => turn)) ?? -1
  const before = found.find((one) => one.turn === turn)
  const encoded = (rest: string) => ModelInput.fromTokens(tokenizer.encode(rest))
  // A client that was told a part of what was sampled goes on from that part.
  const isCut = tokens === undefined && before?.isWhole === false
  const rest = text.slice(before?.told.length)
  const input = tokens ??
    (before === undefined || isCut
      ? encoded(text)
      : rest === ""
      ? before.whole
      : ModelInput.concat(before.whole, encoded(rest)))
  const placed: PlacedText = { messages: [], prefill: "", input, text: { given: text, decode: tokenizer.decode } }
  if (isCut) return { ...placed, branch: Branch.anew("response") }
  return turn === state.turns.length - 1
    ? placed
    : { ...placed, branch: { after: turn, reason: textReason(state, arrived, placed, turn) } }
}

const addText = (state: State, { branch, input, messages, text }: PlacedText, { parsed, response }: Response) => {
  const turn = state.turns.length
  state.turns.push({ messages, input, response, parsed, conversation: [] })
  state.continued.add(Branch.previous(turn, branch))
  const said = Message.text(parsed.message)
  state.texts.push({
    turn,
    text: text.given,
    told: text.given + said,
    isWhole: text.decode(response) === said,
    asked: input,
    whole: ModelInput.append(input, response)
  })
}

/** The response after the text with which the request began it. */
const whole = (prefill: string, message: Message.Message): Message.Message =>
  prefill === "" ? message : { ...message, content: [{ type: "text", text: prefill }, ...Message.parts(message)] }

/** Calls that cannot be read, which some dialects tell as text. */
const asText = ({ unparsedToolCalls = [], ...message }: Message.Message): Message.Message => ({
  ...message,
  content: [
    ...Message.parts(message),
    ...unparsedToolCalls.map(({ rawText }) => ({ type: "text" as const, text: ` ${rawText}` }))
  ]
})

const add = (state: State, { branch, input, messages, prefill }: Placed, { parsed, response }: Response) => {
  const index = state.turns.length
  const message = whole(prefill, parsed.message)
  const conversation = [...messages, message]
  state.turns.push({ messages, input, response, parsed: { ...parsed, message }, conversation })
  state.continued.add(Branch.previous(index, branch))
  const asked = Spoken.of(messages)
  state.instructions.add(instructionsOf(asked))
  walk(state.root, asked).asked.push(index)
  const told = message.unparsedToolCalls === undefined ? [conversation] : [conversation, [...messages, asText(message)]]
  for (const spoken of told.map(Spoken.of)) {
    walk(state.root, spoken).ended.push(index)
    for (const one of spoken) if (isSaid(one)) state.said.add(one.digest)
  }
}

/** The tree of an episode that has not begun. */
export const make = (): EpisodeTree => {
  const state: State = {
    root: node(),
    turns: [],
    texts: [],
    continued: new Set(),
    said: new Set(),
    instructions: new Set()
  }
  return {
    place: (request) => place(state, request),
    placeText: (request) => placeText(state, request),
    add: ({ text, ...placed }, response) =>
      text === undefined ? add(state, placed, response) : addText(state, { ...placed, text }, response),
    turns: () => state.turns.length
  }
}
