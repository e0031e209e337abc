/**
 * Datasets of conversations, and of answer pairs with a preference.
 *
 * @example
 * const chats = Source.rows(ChatSets.noRobots.source, "train").pipe(Stream.map(ChatSets.noRobots.messages))
 */
import { Message } from "@effect-rl/core"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Source from "./Source.ts"

const Turn = Schema.Struct({ role: Schema.Literals(["system", "user", "assistant"]), content: Schema.String })

const toMessage = ({ content, role }: typeof Turn.Type): Message.Message => ({ role, content })

export interface ChatSet<Row> {
  readonly source: Source.Source<Row>
  readonly messages: (row: Row) => ReadonlyArray<Message.Message>
}

const Conversation = Schema.Struct({ messages: Schema.NonEmptyArray(Turn) })

const ofMessages = (
  source: Omit<Source.Source<typeof Conversation.Type>, "row">
): ChatSet<typeof Conversation.Type> => ({
  source: { ...source, row: Conversation },
  messages: ({ messages }) => messages.map(toMessage)
})

export const noRobots = ofMessages({
  name: "no_robots",
  repository: "HuggingFaceH4/no_robots",
  configs: ["default"],
  splits: { train: "train", test: "test" },
  licence: "CC-BY-NC-4.0"
})

/**
 * The Tulu 3 SFT mixture, which has no test split. The cookbook holds out the first 1,024 rows of
 * `DatasetsOrder.shuffled(rows)`.
 */
export const tulu3 = ofMessages({
  name: "tulu3",
  repository: "allenai/tulu-3-sft-mixture",
  configs: ["default"],
  splits: { train: "train" },
  licence: "ODC-BY-1.0, parts under terms of their own"
})

const SharedTurn = Schema.Struct({
  from: Schema.Literals(["system", "human", "gpt", "assistant"]),
  value: Schema.String
})

/** Roles by the dataset's names. The dataset uses two names for the assistant. */
const sharedRoles = { system: "system", human: "user", gpt: "assistant", assistant: "assistant" } as const

const Shared = Schema.Struct({ conversations: Schema.NonEmptyArray(SharedTurn) })

export const openThoughts: ChatSet<typeof Shared.Type> = {
  source: Source.make({
    name: "openthoughts",
    repository: "open-thoughts/OpenThoughts3-1.2M",
    configs: ["default"],
    splits: { train: "train" },
    licence: "Apache-2.0",
    row: Shared
  }),
  messages: ({ conversations }) => conversations.map(({ from, value }) => ({ role: sharedRoles[from], content: value }))
}

/** Two answers to one prompt, the better answer first. */
export interface Comparison {
  readonly prompt: ReadonlyArray<Message.Message>
  readonly chosen: string
  readonly rejected: string
}

export interface PreferenceSet<Row> {
  readonly source: Source.Source<Row>
  /** The comparison in a row; none if the row states no preference or has another format. */
  readonly comparison: (row: Row) => Option.Option<Comparison>
}

const Pair = Schema.Struct({ chosen: Schema.String, rejected: Schema.String })

/** The turns of a transcript that begins with "\\n\\nHuman:" and alternates with "\\n\\nAssistant:". Undefined for other texts. */
const transcript = (text: string): ReadonlyArray<Message.Message> | undefined => {
  const [before = "", ...turns] = text.split(/\n\n(?=Human:|Assistant:)/)
  const messages = turns.map((turn, index) => {
    const [, speaker, content = ""] = /^(Human|Assistant):([\s\S]*)$/.exec(turn) ?? []
    const isExpected = speaker === (index % 2 === 0 ? "Human" : "Assistant")
    if (!isExpected) return undefined
    return index % 2 === 0 ? Message.user(content.trim()) : Message.assistant(content.trim())
  })
  const known = messages.filter((message) => message !== undefined)
  return before.trim() === "" && known.length > 0 && known.length === messages.length ? known : undefined
}

/**
 * The comparison in two transcripts, whose last turns are the answers. None if the transcripts differ in an earlier
 * turn or cannot be read.
 */
const fromTranscripts = ({ chosen, rejected }: typeof Pair.Type): Option.Option<Comparison> => {
  const [better, worse] = [transcript(chosen), transcript(rejected)]
  if (better === undefined || worse === undefined || better.length !== worse.length) return Option.none()
  if (better.length % 2 !== 0) return Option.none()
  const texts = (messages: ReadonlyArray<Message.Message>) => messages.map(Message.text)
  const [a, b] = [texts(better), texts(worse)]
  const isSamePrompt = a.slice(0, -1).every((text, index) => text === b[index])
  return isSamePrompt
    ? Option.some({ prompt: better.slice(0, -1), chosen: a.at(-1) ?? "", rejected: b.at(-1) ?? "" })
    : Option.none()
}

export const hh: PreferenceSet<typeof Pair.Type> = {
  source: Source.make({
    name: "hh",
    repository: "Anthropic/hh-rlhf",
    configs: ["default"],
    splits: { train: "train", test: "test" },
    licence: "MIT",
    row: Pair
  }),
  comparison: fromTranscripts
}

const Rated = Schema.Struct({
  context: Schema.NonEmptyArray(Turn),
  response1: Schema.String,
  response2: Schema.String,
  overall_preference: Schema.Union([Schema.Int, Schema.BigInt])
})

/**
 * HelpSteer3, a dataset of rated pairs of answers. A negative preference means that the first answer is better; 0 means
 * no preference.
 */
export const helpSteer3: PreferenceSet<typeof Rated.Type> = {
  source: Source.make({
    name: "helpsteer3",
    repository: "nvidia/HelpSteer3",
    configs: ["preference"],
    splits: { train: "train", test: "validation" },
    licence: "CC-BY-4.0",
    row: Rated
  }),
  comparison: ({ context, overall_preference, response1, response2 }) => {
    const prompt = context.map(toMessage)
    const preference = Number(overall_preference)
    if (preference === 0) return Option.none()
    return Option.some(
      preference < 0
        ? { prompt, chosen: response1, rejected: response2 }
        : { prompt, chosen: response2, rejected: response1 }
    )
  }
}

const Binarized = Schema.Struct({
  instruction: Schema.String,
  chosen_response: Schema.String,
  rejected_response: Schema.String
})

export const ultraFeedback: PreferenceSet<typeof Binarized.Type> = {
  source: Source.make({
    name: "ultrafeedback",
    repository: "argilla/ultrafeedback-binarized-preferences",
    configs: ["default"],
    splits: { train: "train" },
    licence: "not stated",
    row: Binarized
  }),
  comparison: ({ chosen_response, instruction, rejected_response }) =>
    Option.some({ prompt: [Message.user(instruction)], chosen: chosen_response, rejected: rejected_response })
}
