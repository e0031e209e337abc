/**
 * Conversation files in OpenAI's message format: one `{"messages": […]}` object per line, as in requests and fine-tuning files. Other
 * fields are ignored.
 */
import { OpenAi } from "@effect-rl/core/renderers"
import { FileFailure } from "@effect-rl/files"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import { PlatformError } from "effect/PlatformError"
import * as Schema from "effect/Schema"
import * as Untrusted from "./terminal/Untrusted.ts"

/** `--save`: the file to which conversations are saved. */
export const save = Flag.String("save").pipe(
  Flag.withMetavar("file"),
  Flag.withDescription("File to write conversations to, as OpenAI's messages"),
  Flag.optional
)

/** A file contains no conversation, or cannot be read or written. */
export class ConversationFileError extends Schema.TaggedError<ConversationFileError>()("ConversationFileError", {
  flag: Schema.String,
  file: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${this.flag} ${this.file}: ${this.detail}`
  }
}

export const empty: OpenAi.Conversation = { messages: [], tools: [] }

const decode = Schema.decodeEffect(Schema.fromJsonString(OpenAi.ChatConversation))

const fail = (flag: string, file: string) => (error: { readonly message: string }) => {
  const detail = error instanceof PlatformError ? FileFailure.describe("it", error) : error.message
  return new ConversationFileError({ flag, file, detail })
}

/** Reads the only conversation of a file, with its tools. Fails if the file has no conversation or several. */
export const read = Effect.fnUntraced(function*(file: string) {
  const fs = yield* FileSystem.FileSystem
  const failed = fail("--messages", file)
  const text = yield* Effect.mapError(fs.readFileString(file), failed)
  const conversation = yield* Effect.mapError(decode(text), failed)
  return yield* Effect.mapError(OpenAi.toConversation(conversation), failed)
})

const lineOf = (conversation: OpenAi.Conversation, fields: object = {}) =>
  `${Untrusted.json({ ...OpenAi.fromConversation(conversation), ...fields })}\n`

/** Replaces a file's content with one conversation. */
export const write = (file: string, conversation: OpenAi.Conversation) =>
  FileSystem.FileSystem.use((fs) =>
    Effect.mapError(fs.writeFileString(file, lineOf(conversation)), fail("--save", file))
  )

/** Appends a conversation to a file, as one line that also has the given fields. */
export const append = (file: string, conversation: OpenAi.Conversation, fields: object) =>
  FileSystem.FileSystem.use((fs) =>
    Effect.mapError(fs.writeFileString(file, lineOf(conversation, fields), { flag: "a" }), fail("--save", file))
  )
