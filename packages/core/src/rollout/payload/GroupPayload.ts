/**
 * A rolled out group as lossless JSON: the payload of a `GroupRolledOut` record.
 *
 * The prompt of each turn is stored as a difference from the previous turn, or from the turn that it continues; a member's first prompt,
 * from the group's first prompt. Sampled tokens (32-bit integers) and log-probabilities (32-bit floats) are base64 of little-endian bytes.
 * A turn omits `trainable` if it is true, and `maskedLogprobs`, `sequenceId`, `samplerStep`, `score`, `said`, `state`, `shown`, `branch`,
 * `metrics`, `logs` and `times` if it has none.
 *
 * The stored messages of a prompt are those that the environment added; the policy's own messages are contained in the tokens. Messages
 * that a member's first prompt shares with the group's first prompt are stored only as their number. The tools that a prompt's first
 * messages describe are stored where they change; "first" stands for those of the group's first prompt.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaTransformation from "effect/SchemaTransformation"
import * as Message from "../../chat/Message.ts"
import type { Offered } from "../../chat/ToolSpec.ts"
import * as Branch from "../../env/Branch.ts"
import * as Trajectory from "../../env/Trajectory.ts"
import type * as EnvMetric from "../../records/EnvMetric.ts"
import * as Score from "../../records/Score.ts"
import * as GroupResult from "../GroupResult.ts"
import * as Base64Array from "./Base64Array.ts"
import * as EarlierLogs from "./EarlierLogs.ts"
import * as PromptDelta from "./PromptDelta.ts"

/** The text is not a valid group: it was truncated or changed, or a different version wrote it. */
export class GroupPayloadError extends Schema.TaggedError<GroupPayloadError>()("GroupPayloadError", {
  detail: Schema.String
}) {
  override get message() {
    return `not a recorded group: ${this.detail}`
  }
}

/** The numbers that JSON cannot represent, as text. */
const Unspeakable = Schema.Literals(["NaN", "Infinity", "-Infinity", "-0"])

const isSpeakable = (value: number) => Number.isFinite(value) && !Object.is(value, -0)

const unspeakable = (value: number): typeof Unspeakable.Type => {
  if (Number.isNaN(value)) return "NaN"
  if (value === 0) return "-0"
  return value > 0 ? "Infinity" : "-Infinity"
}

const encodeReal = (value: number) => isSpeakable(value) ? value : unspeakable(value)

const Real = Schema.Union([Schema.Finite, Unspeakable]).pipe(
  Schema.decodeTo(
    Schema.Number,
    SchemaTransformation.transform({
      decode: (value: typeof Unspeakable.Type | number) => Number(value),
      encode: encodeReal
    })
  )
)

const MetricValue = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("rate"), hit: Schema.Boolean }),
  Schema.Struct({ kind: Schema.Literal("mean"), value: Real }),
  Schema.Struct({ kind: Schema.Literal("sum"), value: Real }),
  Schema.Struct({ kind: Schema.Literal("max"), value: Real })
])
const Metrics = Schema.Record(Schema.String, MetricValue)

const Logs = Schema.Record(
  Schema.String,
  Schema.Union([Schema.String, Schema.Finite, Schema.Struct({ number: Unspeakable })])
)

const ScoreJson = Schema.Struct({
  value: Real,
  success: Schema.optionalKey(Schema.Boolean),
  answer: Schema.optionalKey(Schema.String),
  explanation: Schema.optionalKey(Schema.String),
  parts: Schema.optionalKey(Schema.Record(Schema.String, Real)),
  verdict: Schema.optionalKey(Schema.Struct({
    provider: Schema.String,
    outcome: Schema.String,
    digest: Schema.optionalKey(Schema.String),
    tests: Schema.optionalKey(Schema.Array(Schema.Struct({
      name: Schema.String,
      passed: Schema.Boolean,
      detail: Schema.optionalKey(Schema.String)
    })))
  }))
})

const Task = Schema.Struct({
  question: Schema.optionalKey(Schema.String),
  reference: Schema.optionalKey(Schema.String)
})

const Part = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
  Schema.Struct({ type: Schema.Literal("thinking"), thinking: Schema.String }),
  Schema.Struct({
    type: Schema.Literal("image"),
    data: Schema.Uint8ArrayFromBase64,
    format: Schema.Literals(["png", "jpeg"]),
    expectedTokens: Schema.optionalKey(Schema.Int)
  })
])

/** A message as JSON; images are base64 of their bytes. */
const MessageJson = Schema.Struct({
  role: Schema.String,
  content: Schema.Union([Schema.String, Schema.Array(Part)]),
  toolCalls: Schema.optionalKey(Schema.Array(Schema.Struct({
    id: Schema.optionalKey(Schema.String),
    function: Schema.Struct({ name: Schema.String, arguments: Schema.String })
  }))),
  unparsedToolCalls: Schema.optionalKey(
    Schema.Array(Schema.Struct({ rawText: Schema.String, error: Schema.String }))
  ),
  toolCallId: Schema.optionalKey(Schema.String),
  name: Schema.optionalKey(Schema.String),
  trainable: Schema.optionalKey(Schema.Boolean)
})

const OfferedJson = Schema.Struct({
  tools: Schema.Array(
    Schema.Struct({ name: Schema.String, description: Schema.String, parameters: Schema.JsonObject })
  ),
  messages: Schema.Int,
  systemPrompt: Schema.optionalKey(Schema.String)
})

const ShownJson = Schema.Struct({
  /** The number of leading messages that are shared with the group's first prompt. */
  shared: Schema.optionalKey(Schema.Int),
  kept: Schema.optionalKey(Schema.Int),
  messages: Schema.optionalKey(Schema.Array(MessageJson)),
  offered: Schema.optionalKey(Schema.Union([OfferedJson, Schema.Literal("first")]))
})

const Turn = Schema.Struct({
  prompt: PromptDelta.PromptDelta,
  tokens: Base64Array.int32,
  logprobs: Base64Array.float32,
  maskedLogprobs: Schema.optionalKey(Base64Array.float32),
  stopReason: Schema.Literals(["stop", "length"]),
  sequenceId: Schema.optionalKey(Schema.String),
  samplerStep: Schema.optionalKey(Schema.Int),
  reward: Real,
  score: Schema.optionalKey(ScoreJson),
  said: Schema.optionalKey(MessageJson),
  state: Schema.optionalKey(Schema.Json),
  shown: Schema.optionalKey(ShownJson),
  branch: Schema.optionalKey(Schema.Struct({ after: Schema.Int, reason: Branch.Reason })),
  trainable: Schema.optionalKey(Schema.Boolean),
  metrics: Schema.optionalKey(Metrics),
  logs: Schema.optionalKey(Logs),
  /** The reason for a branch that continues no turn, as earlier versions wrote it. */
  fork: Schema.optionalKey(Schema.Literals(["renderer", "history", "response"])),
  times: Schema.optionalKey(
    Schema.Struct({ began: Schema.Finite, sampling: Schema.Finite, environment: Schema.Finite })
  )
})

const Member = Schema.Struct({
  stepReward: Real,
  stopReason: Schema.NullOr(Schema.String),
  truncations: Schema.Int,
  /** The member's task; absent if it equals the previous member's task, null if there is no task. */
  task: Schema.optionalKey(Schema.NullOr(Task)),
  logs: Schema.optionalKey(Logs),
  turns: Schema.Array(Turn)
})

/** Why a member failed. */
const FailureReport = Schema.Struct({
  member: Schema.Int,
  attempt: Schema.Int,
  failure: GroupResult.FailureTag,
  message: Schema.String
})

/** Why too few members finished. */
const BelowFloor = Schema.Struct({
  failure: Schema.Literal("BelowFloor"),
  finished: Schema.Int,
  floor: Schema.Int,
  message: Schema.String
})

/** The group's dataset batch; absent in groups of formats up to 3, which belong to no batch. */
const iteration = Schema.optionalKey(Schema.Int)

const played = {
  iteration,
  key: Schema.String,
  tags: Schema.Array(Schema.String),
  samplerStep: Schema.Int,
  /** The members in order; null for a dropped member. */
  members: Schema.Array(Schema.NullOr(Member)),
  rewards: Schema.Array(Real),
  /** The scores behind the group's rewards; absent if the group returned none, null for members without one. */
  scores: Schema.optionalKey(Schema.Array(Schema.NullOr(ScoreJson))),
  metrics: Schema.Array(Metrics),
  retried: Schema.Array(FailureReport),
  grading: Schema.optionalKey(Schema.Struct({ began: Schema.Finite, milliseconds: Schema.Finite }))
}

const Payload = Schema.Union([
  Schema.Struct({ _tag: Schema.Literal("Completed"), ...played }),
  Schema.Struct({ _tag: Schema.Literal("Partial"), ...played, dropped: Schema.Array(FailureReport) }),
  Schema.Struct({
    _tag: Schema.Literal("Skipped"),
    iteration,
    key: Schema.String,
    tags: Schema.Array(Schema.String),
    size: Schema.Int,
    reason: Schema.Union([FailureReport, BelowFloor]),
    dropped: Schema.Array(FailureReport)
  })
])

const mapValues = <A, B>(record: Readonly<Record<string, A>>, f: (value: A) => B): Record<string, B> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, f(value)]))

const isEmpty = (record: object) => {
  for (const _ in record) return false
  return true
}

const isPlainMetric = (metric: EnvMetric.EnvMetric) => metric.kind === "rate" || isSpeakable(metric.value)

/**
 * Whether all values of a record pass a test, so the record can be used without copying. Most metrics and logs are valid JSON already;
 * copying each would take a third of a group's encoding time.
 */
const areAll = <A>(record: Readonly<Record<string, A>>, is: (value: A) => boolean) => {
  for (const key in record) {
    const value = record[key]
    if (value !== undefined && !is(value)) return false
  }
  return true
}

const encodeMetrics = (metrics: EnvMetric.Metrics) =>
  areAll(metrics, isPlainMetric)
    ? metrics
    : mapValues(metrics, (metric) => metric.kind === "rate" ? metric : { ...metric, value: encodeReal(metric.value) })

const isPlainLog = (value: string | number) => typeof value === "string" || isSpeakable(value)

const encodeLogs = (logs: Trajectory.Transition["logs"]) =>
  areAll(logs, isPlainLog)
    ? logs
    : mapValues(
      logs,
      (value) => typeof value === "string" || isSpeakable(value) ? value : { number: unspeakable(value) }
    )

const isPlainScore = ({ parts = {}, value }: Score.Score) => isSpeakable(value) && areAll(parts, isSpeakable)

const encodeScore = (score: Score.Score) =>
  isPlainScore(score) ? score : {
    ...score,
    value: encodeReal(score.value),
    ...(score.parts !== undefined && { parts: mapValues(score.parts, encodeReal) })
  }

/** Removes the rate derived from a score; decoding derives it again. */
const encodeReported = (score: Score.Score | undefined, metrics: EnvMetric.Metrics) => {
  const own = Score.withoutCorrect(score, metrics)
  return isEmpty(own) ? undefined : encodeMetrics(own)
}

type Messages = ReadonlyArray<Message.Message>

/** Encodes a message. Most messages are returned unchanged, because they are valid JSON already. */
const encodeMessage = (message: Message.Message) =>
  typeof message.content === "string" ? message : {
    ...message,
    content: Message.parts(message).map((part) =>
      part.type === "image" ? { ...part, data: Base64Array.encode(part.data) } : part
    )
  }

const encodeOffered = (offered: Offered | undefined, first: First) =>
  offered !== undefined && first.offered !== undefined && Trajectory.isSameOffer(offered, first.offered)
    ? "first"
    : offered

const encodeShown = ({ kept, messages, offered }: Trajectory.AddedMessages, first: First) => {
  const shared = Trajectory.sharedLength(first.messages, messages)
  const own = shared === 0 ? messages : messages.slice(shared)
  return {
    shared: shared === 0 ? undefined : shared,
    kept,
    messages: own.length === 0 ? undefined : own.map(encodeMessage),
    offered: encodeOffered(offered, first)
  }
}

const encodeTurn = (
  { action, branch, logs, metrics, observation, reward, said, score, shown, state, times, trainable }:
    Trajectory.Transition,
  base: PromptDelta.Base,
  first: First
) => ({
  prompt: PromptDelta.encode(base, observation),
  tokens: Base64Array.encode(action.tokens),
  logprobs: Base64Array.encode(action.logprobs),
  ...(action.maskedLogprobs === undefined ? {} : { maskedLogprobs: Base64Array.encode(action.maskedLogprobs) }),
  stopReason: action.stopReason,
  ...(action.sequenceId === undefined ? {} : { sequenceId: action.sequenceId }),
  ...(action.samplerStep === undefined ? {} : { samplerStep: action.samplerStep }),
  reward: encodeReal(reward),
  // JSON omits undefined fields.
  trainable: trainable ? undefined : false,
  score: score === undefined ? undefined : encodeScore(score),
  said: said === undefined ? undefined : encodeMessage(said),
  state,
  shown: shown === undefined ? undefined : encodeShown(shown, first),
  branch,
  metrics: encodeReported(score, metrics),
  logs: isEmpty(logs) ? undefined : encodeLogs(logs),
  times
})

/** The base of a prompt's difference: the turn that it continues, or else the last turn. */
const baseOf = (bases: ReadonlyArray<PromptDelta.Base>, first: First, branch: Trajectory.Transition["branch"]) =>
  bases[branch?.after ?? -1] ?? bases.at(-1) ?? first.prompt

const isSameTask = (left: Trajectory.Trajectory["task"], right: Trajectory.Trajectory["task"]) =>
  left?.question === right?.question && left?.reference === right?.reference

const encodeMember = (
  { logs, stepReward, stopReason, task, transitions, truncations }: Trajectory.Trajectory,
  first: First,
  taskBefore: Trajectory.Trajectory["task"]
) => {
  const bases: Array<PromptDelta.Base> = []
  const turns = transitions.map((transition, index) => {
    const base = baseOf(bases, first, transition.branch)
    bases.push(PromptDelta.base(transition.observation, transition.action.tokens))
    return encodeTurn(transition, base, index === 0 ? first : noPrompt)
  })
  return {
    stepReward: encodeReal(stepReward),
    stopReason: Option.getOrNull(stopReason),
    truncations,
    task: isSameTask(task, taskBefore) ? undefined : task ?? null,
    logs: logs === undefined ? undefined : encodeLogs(logs),
    turns
  }
}

/** The group's first prompt, which is the base for the first prompts of later members. */
interface First {
  readonly prompt: PromptDelta.Base
  readonly messages: Messages
  readonly offered?: Offered
}

const noPrompt: First = { prompt: PromptDelta.empty, messages: [] }

const firstPrompt = (before: First, { transitions: [turn] }: Trajectory.Trajectory): First =>
  before === noPrompt && turn !== undefined
    ? {
      prompt: PromptDelta.base(turn.observation),
      messages: turn.shown?.messages ?? [],
      ...(turn.shown?.offered !== undefined && { offered: turn.shown.offered })
    }
    : before

const encodeMembers = (members: GroupResult.Group["members"]) => {
  let first = noPrompt
  let task: Trajectory.Trajectory["task"]
  return members.map((member) => {
    if (Option.isNone(member)) return null
    const encoded = encodeMember(member.value, first, task)
    first = firstPrompt(first, member.value)
    task = member.value.task
    return encoded
  })
}

const toPayload = (result: GroupResult.GroupResult) => {
  if (result._tag === "Skipped") return result
  const { members, metricsG, rewardsG, scoresG, ...group } = result
  return {
    ...group,
    rewards: Array.from(rewardsG, encodeReal),
    scores: scoresG?.map((score) => score === undefined ? null : encodeScore(score)),
    metrics: metricsG.map((metrics, member) => encodeMetrics(Score.withoutCorrect(scoresG?.[member], metrics))),
    members: encodeMembers(members)
  }
}

/**
 * Encodes the group as one line of JSON.
 *
 * @example
 * const copy = GroupPayload.decode(GroupPayload.encode(group))
 */
export const encode = (result: GroupResult.GroupResult): string => JSON.stringify(toPayload(result))

const decodeLogs = (logs: typeof Logs.Type): Trajectory.Transition["logs"] =>
  mapValues(logs, (value) => typeof value === "object" ? Number(value.number) : value)

const decodeShown = (
  { kept, messages = [], offered, shared = 0 }: typeof ShownJson.Type,
  first: First
): Trajectory.AddedMessages => {
  const told = offered === "first" ? first.offered : offered
  return {
    ...(kept === undefined ? {} : { kept }),
    messages: shared === 0 ? messages : [...first.messages.slice(0, shared), ...messages],
    ...(told === undefined ? {} : { offered: told })
  }
}

const branchOf = ({ branch, fork }: typeof Turn.Type): Trajectory.Transition["branch"] =>
  branch ?? (fork === undefined ? undefined : Branch.anew(fork === "history" ? "edit" : fork))

const decodeTurn = (
  turn: typeof Turn.Type,
  base: PromptDelta.Base,
  first: First
): Trajectory.Transition | undefined => {
  const { logprobs, logs = {}, maskedLogprobs, metrics = {}, prompt, reward, score, sequenceId, stopReason, tokens } =
    turn
  const { said, samplerStep, shown, state, times, trainable = true } = turn
  const branch = branchOf(turn)
  const observation = PromptDelta.decode(base, prompt)
  if (observation === undefined) return undefined
  const action = {
    tokens,
    logprobs,
    ...(maskedLogprobs === undefined ? {} : { maskedLogprobs }),
    stopReason,
    ...(sequenceId === undefined ? {} : { sequenceId }),
    ...(samplerStep === undefined ? {} : { samplerStep })
  }
  return {
    observation,
    action,
    reward,
    ...(score === undefined ? {} : { score }),
    ...(said === undefined ? {} : { said }),
    ...(state === undefined ? {} : { state }),
    trainable,
    metrics: Score.withCorrect(score, metrics),
    logs: decodeLogs(logs),
    ...(shown === undefined ? {} : { shown: decodeShown(shown, first) }),
    ...(branch === undefined ? {} : { branch }),
    ...(times === undefined ? {} : { times })
  }
}

/** The trajectory, or the index of the first turn whose prompt refers to more than its base contains. */
const decodeMember = (
  member: typeof Member.Type,
  first: First,
  task: Trajectory.Trajectory["task"] | null
): Trajectory.Trajectory | number => {
  const { logs, stepReward, stopReason, truncations, turns } = member
  const transitions: Array<Trajectory.Transition> = []
  const bases: Array<PromptDelta.Base> = []
  for (const turn of turns) {
    const transition = decodeTurn(
      turn,
      baseOf(bases, first, turn.branch),
      transitions.length === 0 ? first : noPrompt
    )
    if (transition === undefined) return transitions.length
    transitions.push(transition)
    bases.push(PromptDelta.base(transition.observation, transition.action.tokens))
  }
  const trajectory = {
    transitions,
    stepReward,
    stopReason: Option.fromNullOr(stopReason),
    truncations,
    ...(task === undefined || task === null ? {} : { task })
  }
  return logs === undefined ? trajectory : { ...trajectory, logs: decodeLogs(logs) }
}

const decodeMembers = Effect.fnUntraced(function*(members: ReadonlyArray<typeof Member.Type | null>) {
  const decoded: Array<Option.Option<Trajectory.Trajectory>> = []
  let first = noPrompt
  let task: Trajectory.Trajectory["task"] | null
  for (const [index, member] of members.entries()) {
    if (member?.task !== undefined) task = member.task
    const trajectory = member === null ? undefined : decodeMember(member, first, task)
    if (typeof trajectory === "number") {
      const detail = `member ${index}, turn ${trajectory}: its prompt keeps more than the sequence before it has`
      return yield* new GroupPayloadError({ detail })
    }
    decoded.push(Option.fromUndefinedOr(trajectory))
    if (trajectory !== undefined) first = firstPrompt(first, trajectory)
  }
  return decoded
})

const fromPayload = Effect.fnUntraced(function*(payload: typeof Payload.Type) {
  const { iteration = 0 } = payload
  if (payload._tag === "Skipped") return { ...payload, iteration }
  const { members, metrics, rewards, scores, ...group } = payload
  if (rewards.length !== members.length || metrics.length !== members.length) {
    const detail =
      `${members.length} members with ${rewards.length} rewards and ${metrics.length} metrics, expected as many`
    return yield* new GroupPayloadError({ detail })
  }
  const decoded = yield* decodeMembers(members)
  const isEarlier = payload.iteration === undefined
  return {
    ...group,
    iteration,
    members: isEarlier ? decoded.map(Option.map(EarlierLogs.typed)) : decoded,
    rewardsG: Float64Array.from(rewards),
    ...(scores === undefined ? {} : { scoresG: scores.map((score) => score ?? undefined) }),
    metricsG: metrics.map((metrics, member) => Score.withCorrect(scores?.[member] ?? undefined, metrics))
  }
})

const decodePayload = Schema.decodeUnknownEffect(Schema.fromJsonString(Payload))

/** Decodes the output of `encode`. Fails if it is not a valid group. */
export const decode = (text: string): Effect.Effect<GroupResult.GroupResult, GroupPayloadError> =>
  decodePayload(text).pipe(
    Effect.catchTag("SchemaError", ({ message }) => Effect.fail(new GroupPayloadError({ detail: message }))),
    Effect.flatMap(fromPayload)
  )

/** A schema that encodes groups with `encode` and decodes them with `decode`. */
export const codec: Schema.Codec<GroupResult.GroupResult, string> = Schema.String.pipe(
  Schema.decodeTo(
    Schema.declare((value): value is GroupResult.GroupResult =>
      ["Completed", "Partial", "Skipped"].some((tag) => Predicate.isTagged(value, tag))
    ),
    SchemaTransformation.transformEffect({
      decode: (text, options) =>
        Effect.mapError(decode(text), ({ message }) => new SchemaIssue.InvalidValue({ message }, text, options)),
      encode: (result) => Effect.succeed(encode(result))
    })
  )
)
