/**
 * The sequences that other weights read to score a datum's tokens: the datum's own sequence, one with another prompt, or one in other
 * tokens.
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ChatModel } from "../../catalog/ChatModel.ts"
import type * as Message from "../../chat/Message.ts"
import type { RendererError } from "../../chat/Renderer.ts"
import * as Retokenized from "../../chat/Retokenized.ts"
import * as Trajectory from "../../env/Trajectory.ts"
import * as ModelInput from "../../model/ModelInput.ts"
import type { JsonObject } from "../../records/Json.ts"
import * as GroupResult from "../../rollout/GroupResult.ts"
import { InvalidOption } from "../../settings/InvalidOption.ts"
import type { TrainingDatum } from "../TrainingData.ts"
import type { GroupCredit } from "./FromRewards.ts"

/** The prompt that other weights read instead of the prompt from which a group was sampled. */
export interface OtherPrompt<out E = never, out R = never> {
  /** Name of the prompt in the run's identity. */
  readonly name: string
  readonly of: (group: GroupResult.Group) => Effect.Effect<ModelInput.ModelInput, E, R>
}

/** The tokenizers and renderers of a student and a teacher with different tokenizers. */
export interface Models {
  readonly student: Pick<ChatModel, "tokenizer" | "renderer">
  readonly teacher: Pick<ChatModel, "tokenizer" | "renderer">
}

/** The models' part of a run's identity. */
export const identity = ({ student, teacher }: Models): JsonObject => ({
  student: student.tokenizer.fingerprint,
  teacher: teacher.tokenizer.fingerprint,
  renderer: teacher.renderer.name
})

export interface Options<out E = never, out R = never> {
  /** What the teacher reads instead of the student's prompt. Default: the same prompt. */
  readonly prompt?: OtherPrompt<E, R> | undefined
  /** The models of student and teacher, if their tokenizers differ. */
  readonly models?: Models | undefined
}

/** A sequence that other weights read. */
export interface Reading {
  readonly datum: TrainingDatum
  readonly sequence: ModelInput.ModelInput
  /** Spans of the datum's targets (`own`) and of the sequence (`other`) that stand for the same text. */
  readonly spans: Retokenized.Spans
  /** False if the sequence leaves out the end of a response. */
  readonly isWhole: boolean
}

const range = (from: number, length: number) => Int32Array.from({ length }, (_, index) => from + index)

/** A sequence that ends with the datum's own targets. */
const ofOwnTokens = (datum: TrainingDatum, sequence: ModelInput.ModelInput): Reading => {
  const boundaries = datum.modelInput.length + 1
  const spans = { own: range(0, boundaries), other: range(sequence.length - datum.modelInput.length, boundaries) }
  return { datum, sequence, spans, isWhole: true }
}

const read = ({ inputs, modelInput }: TrainingDatum) => ModelInput.append(modelInput, inputs.targetTokens.subarray(-1))

const transitionsOf = ({ members }: GroupResult.Group, { origin }: TrainingDatum) =>
  Option.match(members[origin.member] ?? Option.none(), {
    onNone: () => [],
    onSome: ({ transitions }) => transitions
  })

const unrendered = (field: string) => ({ message }: RendererError) =>
  new InvalidOption({ field, found: message, expected: "a renderer for the environment's messages" })

const refused = (field: string, found: string, expected: string) =>
  Effect.fail(new InvalidOption({ field, found, expected }))

/** Replaces the prompt of a datum: the other prompt, followed by everything that the member read and wrote after its first prompt. */
const behind = (prompt: ModelInput.ModelInput, group: GroupResult.Group, datum: TrainingDatum) => {
  const rest = ModelInput.after(read(datum), transitionsOf(group, datum)[0]?.observation ?? ModelInput.empty)
  return rest === undefined
    ? refused(
      "prompt",
      `turn ${datum.origin.turns[0]} of "${group.key}", which does not begin with the first turn's prompt`,
      "left out for environments that rewrite what was read before"
    )
    : Effect.succeed(ofOwnTokens(datum, ModelInput.concat(prompt, rest)))
}

/** The tokenizer and the renderer, if the tokenizer's tokens stand for bytes. */
const languageOf = (models: Models, of: keyof Models) => {
  const { renderer, tokenizer } = models[of]
  return Retokenized.hasBytes(tokenizer)
    ? Effect.succeed({ renderer, tokenizer })
    : refused(`models.${of}`, `the tokenizer ${tokenizer.fingerprint}`, "a tokenizer whose tokens stand for bytes")
}

/** The conversation before each turn, as the environment showed it; undefined for turns whose messages it did not report. */
const conversationsOf = Effect.fnUntraced(function*(
  transitions: ReadonlyArray<Trajectory.Transition>,
  { parse }: ChatModel["renderer"]
) {
  const withResponses: Array<ReadonlyArray<Message.Message> | undefined> = []
  return yield* Effect.forEach(transitions, (transition) => {
    const shown = Trajectory.shownTo(withResponses, transition)
    const { action: { tokens }, said } = transition
    const response = said === undefined
      ? Effect.mapBoth(parse(tokens), {
        onFailure: unrendered("models.student"),
        onSuccess: ({ message }) => message
      })
      : Effect.succeed(said)
    return Effect.map(response, (message) => {
      withResponses.push(shown && [...shown, message])
      return shown
    })
  })
})

/** The responses in a member's data, each after its prompt as the teacher's renderer writes it. */
const translated = Effect.fnUntraced(function*(
  data: Arr.NonEmptyReadonlyArray<TrainingDatum>,
  group: GroupResult.Group,
  models: Models,
  otherPrompt: ModelInput.ModelInput | undefined
): Effect.fn.Return<ReadonlyArray<Reading>, InvalidOption> {
  const student = yield* languageOf(models, "student")
  const teacher = yield* languageOf(models, "teacher")
  const transitions = transitionsOf(group, data[0])
  const conversations = yield* conversationsOf(transitions, student.renderer)
  const name = (turn: number) => `turn ${turn} of "${group.key}"`
  return yield* Effect.forEach(
    data.flatMap((datum) =>
      datum.origin.turns.filter((turn) => transitions[turn]?.trainable === true).map((turn) => ({ datum, turn }))
    ),
    Effect.fnUntraced(function*({ datum, turn }) {
      const conversation = conversations[turn]
      const transition = transitions[turn]
      if (transition === undefined || (conversation === undefined && otherPrompt === undefined)) {
        return yield* refused(
          "models",
          `${name(turn)}, whose messages are unknown`,
          "an environment that shows messages"
        )
      }
      if (otherPrompt !== undefined && turn > 0) {
        return yield* refused("prompt", name(turn), "left out for environments of several turns if models are given")
      }
      const prompt = otherPrompt ??
        (yield* Effect.mapError(
          teacher.renderer.generationPrompt(conversation ?? []),
          unrendered("models.teacher")
        ))
      const { isWhole, spans, tokens } = Retokenized.response(transition.action, student, teacher)
      // Targets are shifted by one: the target at position t is token t + 1.
      const start = transition.observation.length - 1
      return {
        datum,
        sequence: ModelInput.append(prompt, tokens),
        spans: { own: spans.own.map((at) => start + at), other: spans.other.map((at) => prompt.length + at) },
        isWhole
      }
    })
  )
})

/** The sequences that other weights read to score the datums of a group. */
export const ofGroup = Effect.fnUntraced(function*<E, R>(
  { data, result }: GroupCredit,
  { models, prompt }: Options<E, R>
): Effect.fn.Return<ReadonlyArray<Reading>, E | InvalidOption, R> {
  if (GroupResult.isSkipped(result) || data.length === 0) return []
  const other = prompt === undefined ? undefined : yield* prompt.of(result)
  if (models !== undefined) {
    const byMember = Object.values(Arr.groupBy(data, ({ origin: { member } }) => String(member)))
    return (yield* Effect.forEach(byMember, (ofMember) => translated(ofMember, result, models, other))).flat()
  }
  return other === undefined
    ? data.map((datum) => ofOwnTokens(datum, read(datum)))
    : yield* Effect.forEach(data, (datum) => behind(other, result, datum))
})
