/**
 * The tree of what was read and sampled in one episode of an agent. Each request is matched to a place in it.
 *
 * Invariants:
 * - A turn is added once, after its tokens were sampled, and never changed. Its index is its place in the episode's trajectory.
 * - A request is matched by what its messages say (see `Spoken`), never by text or tokens. It continues the turn whose conversation,
 *   including the response, is the longest prefix of the request's conversation.
 * - The prompt of a request that continues a turn begins with that turn's prompt and sampled tokens, token for token. Otherwise its
 *   `branch` says why it was rendered again.
 * - A prompt without `branch` continues the turn that was added last, or is the first.
 * - A text to continue has no messages. It continues the turn whose text, as the client received it, is a prefix of the given text. Its
 *   prompt has that turn's tokens, then new tokens for the rest of the text.
 */
import { Message } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { Branch, Continuation } from "@effect-rl/core/environments"
import type { Renderer, Tokenizer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import type { Continuing } from "../dialect/Answerer.ts"
import * as Spoken from "./Spoken.ts"

/** An agent's request for the next response. */
export interface Request {
  readonly renderer: Renderer.Renderer
  /** The conversation as rendered: with the messages about its tools, without the beginning of its response. */
  readonly messages: ReadonlyArray<Message.Message>
  /** The beginning of the response; empty for a new response. */
  readonly prefill: string
  /** The number of turns in the tree when the request arrived. */
  readonly arrived: number
}

/** An agent's request to continue a text. */
export interface TextRequest extends Pick<Request, "arrived"> {
  readonly text: Continuing
  readonly tokenizer: Tokenizer.Tokenizer
}

/** A request with its place in the tree. */
export interface Placed extends Pick<Request, "messages" | "prefill"> {
  /** The messages as the client sent them; `messages` has the responses as they were parsed instead. */
  readonly sent: ReadonlyArray<Message.Message>
  /** What the sent messages say. */
  readonly spoken: ReadonlyArray<Spoken.Spoken>
  /** The prompt. */
  readonly input: ModelInput.ModelInput
  readonly branch?: Branch.Branch
  /** The text to continue and the decoder for its tokens; absent for a conversation. */
  readonly text?: { readonly given: string; readonly decode: Tokenizer.Tokenizer["decode"] }
}

type PlacedText = Placed & Required<Pick<Placed, "text">>

/** A sampled response, and its parsed form as the agent received it. */
export type Response = Pick<Continuation.Turn, "response" | "parsed">

/** The mutable state of one episode. */
export interface EpisodeTree {
  /** Places a request in the tree and returns its prompt. */
  readonly place: (request: Request) => Effect.Effect<Placed, Renderer.RendererError>
  /** Places a text in the tree and returns its prompt; an empty text has no tokens. */
  readonly placeText: (request: TextRequest) => Placed
  /** Adds a turn with the sampled response. */
  readonly add: (placed: Placed, response: Response) => void
  /** The number of turns. */
  readonly turns: () => number
}

/** A node of the tree. The path from the root to it is a conversation prefix. */
interface Node {
  readonly next: Map<string, Node>
  /** Turns whose response ends here. */
  readonly ended: Array<number>
  /** Turns whose request ends here. */
  readonly asked: Array<number>
}

const node = (): Node => ({ next: new Map(), ended: [], asked: [] })

interface Turn extends Continuation.Turn {
  readonly conversation: ReadonlyArray<Message.Message>
}

/** A turn that continues a text. */
interface TextTurn {
  readonly turn: number
  readonly text: string
  /** The text including the continuation that the client received. */
  readonly told: string
  /** Whether the client received everything that was sampled, and the sample has no stop. */
  readonly isWhole: boolean
  readonly asked: ModelInput.ModelInput
  /** The prompt followed by the response. */
  readonly whole: ModelInput.ModelInput
}

interface State {
  readonly root: Node
  readonly turns: Array<Turn>
  readonly texts: Array<TextTurn>
  /** Turns that another turn continues. */
  readonly continued: Set<number>
  /** Digests of what was said in any conversation, excluding instructions. */
  readonly said: Set<string>
  /** The instructions of all conversations. */
  readonly instructions: Set<string>
}

/** Where a request diverges from the known conversations. */
interface Found {
  /** The turn that the request continues; −1 if none. */
  readonly turn: number
  /** How many of the request's messages the continued turn covers. */
  readonly kept: number
  /** Turns whose request was exactly the same. */
  readonly same: ReadonlyArray<number>
}

/** Among turns with equal conversations, the last that no other turn continues yet. */
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
    let next = at.next.get(digest)
    if (next === undefined) at.next.set(digest, next = node())
    at = next
  }
  return at
}

/** Whether a message helps to identify a conversation. Instructions do not, because many conversations share them. */
const isSaid = ({ role }: Spoken.Spoken) => role !== "system" && role !== "developer"

/** Minimum length of a response that counts as quoted; shorter ones may occur in any text. */
const leastQuoted = 16

/** Whether any of the messages quotes an earlier response, as a summary of a conversation does. */
const quotes = ({ turns }: State, messages: ReadonlyArray<Message.Message>) => {
  const responses = turns.map(({ parsed }) => Message.text(parsed.message).trim())
  return messages.some((message) => {
    const text = Message.text(message)
    return responses.some((response) => response.length >= leastQuoted && text.includes(response))
  })
}

/** Whether a message comes from the assistant or a tool. Agents repeat the same user messages in several conversations. */
const isAnswer = ({ role }: Pick<Message.Message, "role">) => role === "assistant" || role === "tool"

const instructionsOf = (spoken: ReadonlyArray<Spoken.Spoken>) =>
  spoken.flatMap((one) => isSaid(one) ? [] : [one.digest]).join()

/** Whether a request is for another conversation: its instructions are new, or its last message is new or absent. */
const isOther = ({ instructions, said }: State, spoken: ReadonlyArray<Spoken.Spoken>) => {
  const last = spoken.findLast(isSaid)
  return !instructions.has(instructionsOf(spoken)) || last === undefined || !said.has(last.digest)
}

/** The reason why a request starts a new conversation. */
const reasonAnew = (state: State, { messages }: Request, spoken: ReadonlyArray<Spoken.Spoken>): Branch.Reason => {
  const isKnown = (one: Spoken.Spoken) => isSaid(one) && state.said.has(one.digest)
  const keepsAnswers = spoken.some((one) => isAnswer(one) && isKnown(one))
  // Some agents keep the latest answers next to a summary of the earlier ones.
  if (quotes(state, keepsAnswers ? messages.filter((message) => !isAnswer(message)) : messages)) return "compaction"
  if (!keepsAnswers && isOther(state, spoken)) return "subagent"
  const before = state.turns.at(-1)?.conversation.length ?? 0
  return messages.length < before ? "compaction" : "edit"
}

/** The reason why a request continues no turn, or a turn other than the last. */
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
  return { messages, input: yield* renderer.generationPrompt(messages, prefilled(prefill)) }
})

const goOn = Effect.fnUntraced(function*(turn: Turn, request: Request, kept: number) {
  const { prefill, renderer } = request
  const rest = Spoken.named(request.messages, turn.conversation).slice(kept)
  const messages = [...turn.conversation, ...rest]
  const continued = yield* Continuation.next(renderer, turn, messages, prefilled(prefill))
  return { messages, ...continued }
})

const place = Effect.fnUntraced(function*(state: State, request: Request) {
  const { turns } = state
  const spoken = Spoken.of(request.messages)
  const found = find(state, spoken)
  const turn = turns[found.turn]
  const prompt: Pick<Placed, "messages" | "input" | "branch"> = turn === undefined
    ? yield* begin(request)
    : yield* goOn(turn, request, found.kept)
  const placed: Placed = { ...prompt, prefill: request.prefill, sent: request.messages, spoken }
  if (placed.branch !== undefined || found.turn === turns.length - 1) return placed
  return { ...placed, branch: { after: found.turn, reason: reasonOf(state, request, spoken, found) } }
})

/** Of the text turns with which the request begins, those with the longest text. */
const longest = ({ texts }: State, begins: (turn: TextTurn) => boolean) => {
  const found = texts.filter(begins)
  const length = Math.max(...found.map(({ told }) => told.length))
  return found.filter(({ told }) => told.length === length)
}

/**
 * The reason why a text continues no turn, or a turn other than the last. A text that begins with an earlier request's text, but not with
 * the continuation of that text, was edited.
 */
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
  // A client that received only part of the sample continues from that part.
  const isCut = tokens === undefined && before?.isWhole === false
  const rest = text.slice(before?.told.length)
  const input = tokens ??
    (before === undefined || isCut
      ? encoded(text)
      : rest === ""
      ? before.whole
      : ModelInput.concat(before.whole, encoded(rest)))
  const placed: PlacedText = {
    messages: [],
    prefill: "",
    sent: [],
    spoken: [],
    input,
    text: { given: text, decode: tokenizer.decode }
  }
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

/** The response joined to the beginning that the request gave. */
const whole = (prefill: string, message: Message.Message): Message.Message =>
  prefill === "" ? message : { ...message, content: [{ type: "text", text: prefill }, ...Message.parts(message)] }

/** Converts calls that could not be parsed to text, as some dialects show them. */
const asText = ({ unparsedToolCalls = [], ...message }: Message.Message): Message.Message => ({
  ...message,
  content: [
    ...Message.parts(message),
    ...unparsedToolCalls.map(({ rawText }) => ({ type: "text" as const, text: ` ${rawText}` }))
  ]
})

const add = (
  state: State,
  { branch, input, messages, prefill, sent, spoken }: Placed,
  { parsed, response }: Response
) => {
  const index = state.turns.length
  const message = whole(prefill, parsed.message)
  const conversation = [...messages, message]
  state.turns.push({ messages, input, response, parsed: { ...parsed, message }, conversation })
  state.continued.add(Branch.previous(index, branch))
  state.instructions.add(instructionsOf(spoken))
  walk(state.root, spoken).asked.push(index)
  const forms = message.unparsedToolCalls === undefined ? [message] : [message, asText(message)]
  for (const form of forms) {
    const told = Spoken.and(spoken, sent, form)
    walk(state.root, told).ended.push(index)
    for (const one of told) if (isSaid(one)) state.said.add(one.digest)
  }
}

/** An empty tree for a new episode. */
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
