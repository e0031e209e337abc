/**
 * Wraps an agent, a program that calls a model itself, as an environment: each of its requests becomes a turn.
 *
 * The agent runs alongside the episode. Its first request is the first observation. Each action answers the current request, then waits for
 * the agent's next request or its verdict. Concurrent requests are answered one after another.
 */
import { type Env, EnvMetric, type Limits, Message, type Score } from "@effect-rl/core"
import type { Sampling } from "@effect-rl/core/backend"
import { Renderer, type ToolSpec } from "@effect-rl/core/renderers"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { createHash } from "node:crypto"
import type { Asked, Continuing, Prompted } from "../dialect/Answerer.ts"
import * as Kept from "../dialect/Kept.ts"
import * as Length from "../dialect/Length.ts"
import * as Notes from "../dialect/Notes.ts"
import * as PromptedChat from "../dialect/PromptedChat.ts"
import { ended, invalid, type Refusal } from "../dialect/Refusal.ts"
import * as Reply from "../dialect/Reply.ts"
import * as CapturedAnswers from "./CapturedAnswers.ts"
import * as EpisodeTree from "./EpisodeTree.ts"
import * as InProcess from "./InProcess.ts"
import * as Mailbox from "./Mailbox.ts"
import * as Place from "./Place.ts"
import * as Redaction from "./Redaction.ts"

/** The agent's promise was rejected, or its function threw. */
export class AgentFailed extends Schema.TaggedError<AgentFailed>()("AgentFailed", { detail: Schema.String }) {
  override get message() {
    return `the agent failed: ${this.detail}`
  }
}

/** The agent's access to its model, and the end of its episode. */
export interface Session extends Place.Place {
  /**
   * The session's access to its model as environment variables: `OPENAI_BASE_URL`, `OPENAI_API_KEY`,
   * `ANTHROPIC_BASE_URL` and `ANTHROPIC_API_KEY`.
   */
  readonly env: Readonly<Record<string, string>>
  /** Aborted when the episode ends for any reason. */
  readonly signal: AbortSignal
}

/** The result of an agent: a reward, or a score whose value is the reward. */
export type Verdict = number | Score.Score

export interface Options<out E = never, out R = never> extends CapturedAnswers.Options {
  /** Runs the agent once and judges the result. A failure fails the group member instead of giving it a reward. */
  readonly run: (session: Session) => Effect.Effect<Verdict, E, R> | PromiseLike<Verdict>
  /** Limits of the episode. At a limit the episode ends without a verdict, and later requests are answered with 410. */
  readonly limits?: Limits.Limits
  /** How long the agent may stay without a request or a verdict before the episode ends with `idle_timeout`. Default: unlimited. */
  readonly idleTimeout?: Duration.Input
  /** The question and the expected answer, shown in transcripts. */
  readonly task?: Env.Task
}

/** The question that the policy is answering. */
interface Shown {
  readonly question: Mailbox.Question
  readonly placed: EpisodeTree.Placed
  readonly prompted: Prompted
  readonly offered?: ToolSpec.Offered
}

interface Playing<E, R> {
  readonly options: Options<E, R>
  readonly tree: EpisodeTree.EpisodeTree
  readonly mailbox: Mailbox.Mailbox
  readonly verdict: Deferred.Deferred<Verdict, E | AgentFailed>
  readonly asides: Array<CapturedAnswers.Aside>
  /** Notes not yet in the logs of a turn, and the fields noted in any turn so far. */
  readonly notes: Array<Notes.Note>
  readonly noted: Set<string>
  readonly uniqueId: () => string
  shown: Shown | undefined
}

/** The next event: a prompt, or the end of the episode. */
type Next = Env.Prompt | Env.Done

/** Makes a parser that parses only once, so the episode and its client read the same message. */
const parsedOnce = (parse: Prompted["parse"]): Prompted["parse"] => {
  let known: readonly [Int32Array, Renderer.Parsed] | undefined
  return (tokens) =>
    Effect.suspend(() =>
      known?.[0] === tokens ? Effect.succeed(known[1]) : Effect.map(parse(tokens), (parsed) => {
        known = [tokens, parsed]
        return parsed
      })
    )
}

/** Places the question in the episode tree, and prepares the sampling and reading of its response. */
const place = Effect.fnUntraced(
  function*<E, R>({ options, tree, uniqueId }: Playing<E, R>, question: Mailbox.Question) {
    const { arrived, asked } = question
    const settings = { ...question.settings, seed: null, choices: null }
    const { chatModel, messages, offered, prefill } = yield* PromptedChat.conversation(options.model, asked)
    // Only a check: it fails if the renderer cannot continue a reply that begins with the prefill.
    if (prefill !== "") yield* PromptedChat.render(options.model, asked)
    const placed = yield* tree.place({ renderer: chatModel.renderer, messages, prefill, arrived })
    const source = { id: uniqueId(), sample: () => Effect.fail(over), replied: () => Effect.void }
    const rendered = { chatModel, messages: placed.messages, prompt: placed.input }
    const prompted = yield* PromptedChat.of(source, rendered, settings)
    const { request } = prompted
    const shown: Shown = {
      question,
      placed,
      ...(offered !== undefined && { offered }),
      prompted: {
        ...prompted,
        request: { ...request, params: { ...request.params, seed: 0 } },
        parse: parsedOnce(prompted.parse)
      }
    }
    return shown
  },
  Effect.catchTag("RendererError", ({ message }) => Effect.fail(invalid(`messages: ${message}`)))
)

/** Places a text to continue in the episode tree. The reply ends at the model's end-of-text token. */
const placeText = Effect.fnUntraced(
  function*<E, R>(
    { options: { model }, tree, uniqueId }: Playing<E, R>,
    { arrived, settings }: Mailbox.Question,
    text: Continuing
  ) {
    const { tokenizer } = model
    if (typeof text === "string") yield* Length.check(model, "prompt", text.length)
    else {
      const unknown = text.find((token) => !Number.isSafeInteger(token) || tokenizer.decode([token]) === "")
      if (unknown !== undefined) return yield* invalid(`prompt has ${unknown}, expected ids of tokens`, "prompt")
    }
    const placed = tree.placeText({ text, arrived, tokenizer })
    const tokens = Reply.promptIds(placed.input)
    if (tokens.length === 0) return yield* invalid("prompt is empty, expected a text to continue", "prompt")
    const source = { id: uniqueId(), chatModel: model, sample: () => Effect.fail(over), replied: () => Effect.void }
    const prompted = yield* PromptedChat.continued(source, tokens, { ...settings, seed: 0, choices: null })
    return { placed, prompted }
  }
)

const promptOf = (
  { offered, placed, prompted: { chatModel: { renderer, tokenizer }, request } }: Shown
): Env.Prompt => ({
  _tag: "Prompt",
  input: placed.input,
  stop: placed.text === undefined || tokenizer.eosTokenId === undefined ? renderer.stop : [tokenizer.eosTokenId],
  maxTokens: request.params.maxTokens,
  ...(request.grammar !== undefined && { grammar: request.grammar }),
  ...(placed.text === undefined && { messages: placed.messages }),
  ...(offered !== undefined && { offered }),
  ...(placed.branch !== undefined && { branch: placed.branch })
})

/** The prompt for a question; undefined if the question is refused, in which case its client is told the reason. */
const show = Effect.fnUntraced(function*<E, R>(self: Playing<E, R>, question: Mailbox.Question) {
  const { text } = question
  const placing: Effect.Effect<Shown, Refusal> = text === undefined
    ? place(self, question)
    : Effect.map(placeText(self, question, text), (placed) => ({ question, ...placed }))
  const shown = yield* Effect.result(placing)
  if (shown._tag === "Failure") {
    yield* self.mailbox.refuse(question, shown.failure)
    return undefined
  }
  self.shown = shown.success
  yield* Deferred.succeed(question.answer.prompted, shown.success.prompted)
  return promptOf(shown.success)
})

const done = (verdict: Verdict): Env.Done =>
  typeof verdict === "number"
    ? { _tag: "Done", reward: verdict, stopReason: "completed" }
    : { _tag: "Done", reward: verdict.value, score: verdict, stopReason: "completed" }

const idle: Env.Done = { _tag: "Done", reward: 0, stopReason: "idle_timeout" }

/** Waits for the next question or the end of the episode. After the agent's verdict, questions are ignored. */
const awaited = <E, R>({ mailbox, options, verdict }: Playing<E, R>) => {
  const ended = Effect.map(Deferred.await(verdict), done)
  if (Deferred.isDoneUnsafe(verdict)) return ended
  const either = Effect.flatMap(
    mailbox.take,
    (found): Effect.Effect<Mailbox.Question | Env.Done, E | AgentFailed> =>
      found === undefined ? ended : Effect.succeed(found)
  )
  return options.idleTimeout === undefined
    ? either
    : Effect.timeoutOrElse(either, { duration: options.idleTimeout, orElse: () => Effect.succeed(idle) })
}

const next = Effect.fnUntraced(function*<E, R>(self: Playing<E, R>): Effect.fn.Return<Next, E | AgentFailed> {
  while (true) {
    const found = yield* awaited(self)
    if ("_tag" in found) return found
    const prompt = yield* show(self, found)
    if (prompt !== undefined) return prompt
  }
})

const unnoted = Notes.make({ isLenient: true, noted: () => Effect.void })

/** The replies that the agent reads from sampled tokens. */
const told = (prompted: Prompted, { logprobs, stopReason, tokens }: Sampling.SampledTokens) =>
  Reply.whole({
    ...prompted,
    request: { ...prompted.request, numSamples: 1 },
    sample: ({ prompt }) =>
      Effect.succeed({
        sequences: [
          prompt.length > prompted.request.prompt.length
            ? { tokens: new Int32Array(0), logprobs: new Float32Array(0), stopReason: "length" }
            : { tokens, logprobs, stopReason }
        ]
      })
  }, unnoted)

/** Metrics for a turn with tools: how many calls could be parsed, and how many could not. */
const callsOf = ({ tools }: Asked, { toolCalls = [], unparsedToolCalls = [] }: Message.Message) =>
  tools.length === 0
    ? {}
    : { tool_calls: EnvMetric.sum(toolCalls.length), unread_calls: EnvMetric.sum(unparsedToolCalls.length) }

/**
 * The logs of a turn: sampling options that the run overrode, notes on the request, and answers from untrained weights.
 */
const logsOf = (
  overridden: ReadonlyArray<string>,
  notes: ReadonlyArray<Notes.Note>,
  asides: ReadonlyArray<CapturedAnswers.Aside>
) => ({
  ...(overridden.length > 0 && { left_to_the_run: overridden.join(", ") }),
  ...Object.fromEntries(notes.map(({ detail, field, kind }) => [`${kind}: ${field}`, detail])),
  ...Object.fromEntries(asides.map(({ model, text }, index) => [`answered_by_${model}_${index}`, text]))
})

const reportOf = <E, R>(
  { asides, notes }: Playing<E, R>,
  { asked, settings }: Mailbox.Question,
  parsed: Renderer.Parsed,
  isHeard: boolean
): Env.Reported => {
  const failure = Renderer.failure(parsed)
  const { toolCalls: { length: toolCalls } = [] } = parsed.message
  const seen = asides.splice(0)
  return {
    reward: 0,
    toolCalls,
    ...(toolCalls > 0 && { said: parsed.message }),
    logs: {
      ...logsOf(CapturedAnswers.leftToTheRun(settings), notes.splice(0), seen),
      ...(failure !== undefined && { parse_error: failure.detail })
    },
    metrics: {
      ...callsOf(asked, parsed.message),
      ...(failure !== undefined && { parse_error: EnvMetric.rate(true) }),
      ...(seen.length > 0 && { answered_by_others: EnvMetric.sum(seen.length) })
    },
    ...(!isHeard && { trainable: false })
  }
}

/** Marks a reply as unfinished if the agent was told only part of it, so the conversation is not continued after the reply's end. */
const parsedOf = ({ parsed, sampled, stop }: Reply.Ended, tokens: Int32Array): Renderer.Parsed =>
  stop === undefined && sampled === tokens.length ? parsed : { ...parsed, termination: "eos" }

const unknownLogprobs = ({ tokens }: Env.Action) => new Float32Array(tokens.length).fill(NaN)

/** Keeps the sampled text of a response that the renderer cannot parse. */
const unreadable = ({ chatModel: { tokenizer } }: Prompted, tokens: Int32Array): Renderer.Parsed => ({
  message: Message.assistant(tokenizer.decode(tokens)),
  termination: "malformed"
})

const unshown = Effect.die(new Error("no request of the agent is shown"))

const step = Effect.fnUntraced(function*<E, R>(
  self: Playing<E, R>,
  action: Env.Action
): Effect.fn.Return<Env.Step, E | AgentFailed> {
  const { mailbox, shown, tree, verdict } = self
  if (shown === undefined) return yield* unshown
  self.shown = undefined
  const { placed, prompted, question } = shown
  const { logprobs = unknownLogprobs(action), stopReason = "stop", tokens } = action
  const sampled = { tokens, logprobs, stopReason }
  const isHeard = question.isHeard() && !Deferred.isDoneUnsafe(verdict)
  const [reply] = yield* Effect.orElseSucceed(told(prompted, sampled), () => [])
  const parsed = reply === undefined ? unreadable(prompted, tokens) : parsedOf(reply.ended, tokens)
  tree.add(placed, { response: tokens, parsed })
  const reported = reportOf(self, question, parsed, isHeard)
  yield* mailbox.answer(question, sampled)
  const found = yield* next(self)
  return found._tag === "Done" ? { ...reported, ...found } : { ...reported, _tag: "Continue", observation: found }
})

const over = ended("the episode of this session is over")

const textOf = (cause: unknown) => cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)

const agentFailed = (redact: Redaction.Redact) => (cause: unknown) => new AgentFailed({ detail: redact(textOf(cause)) })

const started = <E, R>({ run }: Options<E, R>, session: Session): Effect.Effect<Verdict, E | AgentFailed, R> => {
  const failed = agentFailed(session.redact)
  return Effect.flatMap(
    Effect.try({ try: () => run(session), catch: failed }),
    (running): Effect.Effect<Verdict, E | AgentFailed, R> =>
      Effect.isEffect(running) ? running : Effect.tryPromise({ try: () => running, catch: failed })
  ).pipe(Effect.map((verdict) => typeof verdict === "number" ? verdict : Redaction.score(session.redact, verdict)))
}

/** Keeps the first note of each kind on each field. */
const keep = <E, R>({ noted, notes }: Playing<E, R>, note: Notes.Note) => {
  const name = `${note.kind}: ${note.field}`
  if (!noted.has(name)) notes.push(note)
  noted.add(name)
}

/** A public name that is derived from the secret session name and prefixes the ids of responses and calls. */
const publicName = (session: string) => createHash("sha256").update(session).digest("base64url").slice(0, 16)

/** Creates an environment whose agent reaches its model at a place opened by `open`. */
export const at = <E, R>(open: Place.Open) =>
  Effect.fnUntraced(function*(
    options: Options<E, R>
  ): Effect.fn.Return<Env.Env<E | AgentFailed>, never, R | Scope.Scope> {
    const scope = yield* Effect.scope
    const context = yield* Effect.context<R>()
    const tree = EpisodeTree.make()
    const mailbox = Mailbox.make(tree.turns)
    const verdict = Deferred.makeUnsafe<Verdict, E | AgentFailed>()
    let named = 0
    let prefix: string | undefined
    const self: Playing<E, R> = {
      options,
      tree,
      mailbox,
      verdict,
      asides: [],
      notes: [],
      noted: new Set(),
      uniqueId: () => `${prefix ??= publicName(place.session)}${named++}`,
      shown: undefined
    }
    const episode: CapturedAnswers.Episode = {
      mailbox,
      kept: Kept.make(),
      options: yield* CapturedAnswers.metered(options),
      uniqueId: self.uniqueId,
      answeredAside: (aside) => void self.asides.push(aside),
      noted: (note) => Effect.sync(() => keep(self, note))
    }
    let isOver = false
    const place = yield* open((sent) =>
      Effect.suspend(() => isOver ? Effect.fail(over) : Effect.succeed(CapturedAnswers.make(episode, sent)))
    )
    const controller = new AbortController()
    const session: Session = { ...place, env: Place.variables(place), signal: controller.signal }
    let agent: Fiber.Fiber<unknown, unknown> | undefined
    let first: Env.Prompt | Env.Overflow | undefined
    const begin = Effect.gen(function*() {
      const running = Effect.onExit(
        Effect.provideContext(started(options, session), context),
        (exit) => Effect.andThen(Deferred.done(verdict, exit), mailbox.end)
      )
      agent = yield* Effect.forkIn(running, scope)
      const found = yield* next(self)
      first = found._tag === "Prompt" ? found : silent(found)
      return first
    })
    const leave = Effect.gen(function*() {
      isOver = true
      controller.abort()
      yield* mailbox.close(over)
      if (agent !== undefined) yield* Fiber.interrupt(agent)
    })
    yield* Effect.addFinalizer(() => leave)
    const { limits, task } = options
    return {
      initialObservation: Effect.suspend(() => first === undefined ? begin : Effect.succeed(first)),
      step: (action) => step(self, action),
      leave,
      ...(limits !== undefined && { limits }),
      ...(task !== undefined && { task })
    }
  })

/** The result of an episode without requests, which has no turn to train on. */
const silent = ({ reward, stopReason = "completed" }: Env.Done): Env.Overflow => ({
  _tag: "Overflow",
  reward,
  stopReason,
  logs: { agent: "it ended without a request" }
})

/**
 * An environment for an agent that runs in this process and reaches its model through its session's `fetch`.
 *
 * @example
 * const env = AgentEnv.make({
 *   model,
 *   run: async ({ baseUrl, fetch, signal }) => {
 *     const body = JSON.stringify({ model: model.name, messages: [{ role: "user", content: "What is 2 + 2?" }] })
 *     const response = await fetch(`${baseUrl}/chat/completions`, { method: "POST", body, signal })
 *     return (await response.text()).includes("4") ? 1 : 0
 *   }
 * })
 */
export const make: <E = never, R = never>(
  options: Options<E, R>
) => Effect.Effect<Env.Env<E | AgentFailed>, never, R | Scope.Scope> = at(InProcess.open)
