/** `effect-rl chat`: a conversation with a model or a checkpoint. */
import { Message } from "@effect-rl/core"
import { type OpenAi, Renderer } from "@effect-rl/core/renderers"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import * as Terminal from "effect/Terminal"
import * as ConversationFile from "../ConversationFile.ts"
import * as CtrlC from "../CtrlC.ts"
import * as SubjectFlags from "../eval/SubjectFlags.ts"
import * as Help from "../Help.ts"
import { Output } from "../terminal/Output.ts"
import { RunLog } from "../terminal/RunLog.ts"
import * as RunLogger from "../terminal/RunLogger.ts"
import * as Speech from "../terminal/Speech.ts"
import * as Untrusted from "../terminal/Untrusted.ts"
import * as SampleFlags from "./SampleFlags.ts"
import * as Talker from "./Talker.ts"

/** The input that clears the conversation. */
const resetWord = "/reset"

const hint = `${resetWord} starts a new conversation, Ctrl-C ends an answer, Ctrl-D quits`

const flags = {
  ...SampleFlags.flags,
  messages: Flag.String("messages").pipe(
    Flag.withMetavar("file"),
    Flag.withDescription(
      "Conversation to continue: {\"messages\": [...], \"tools\": [...]}, as OpenAI's clients send it"
    ),
    Flag.optional
  ),
  save: ConversationFile.save
}

interface Chat {
  readonly talker: Talker.Talker
  readonly beginning: OpenAi.Conversation
  readonly messages: Ref.Ref<ReadonlyArray<Message.Message>>
  readonly file: Option.Option<string>
}

/** Notes on why an answer is incomplete. */
const endings = { stop: [], length: ["(cut at --max-tokens)"], interrupted: ["(interrupted)"] } as const

/** Answers one line of user input. */
const respond = Effect.fnUntraced(function*({ beginning, file, messages, talker }: Chat, line: string) {
  const output = yield* Output
  if (line.trim() === resetWord) return yield* Ref.set(messages, beginning.messages)
  if (line.trim() === "") return
  const asked = [...yield* Ref.get(messages), Message.user(line)]
  const speech = yield* Speech.make
  const conversation = yield* Renderer.withTools(talker.renderer, beginning.tools, asked)
  const answer = yield* talker.answer(conversation, `chat/${asked.length}`, {
    tell: speech.write,
    interrupted: yield* CtrlC.CtrlC
  })
  yield* speech.end
  yield* output.lines(endings[answer.stopReason].map(output.style.dim))
  yield* output.record({ type: "answer", ...answer })
  const answered = [...asked, answer.message]
  yield* Ref.set(messages, answered)
  if (Option.isSome(file)) yield* ConversationFile.write(file.value, { ...beginning, messages: answered })
})

const talk = Effect.fnUntraced(function*(chat: Chat, name: string) {
  const output = yield* Output
  const terminal = yield* Terminal.Terminal
  const { stdin, stdinIsTerminal } = yield* Stdio.Stdio
  const prompt = (yield* stdinIsTerminal) ? Effect.ignore(terminal.display("> ")) : Effect.void
  yield* output.lines([output.style.dim(`${Untrusted.show(name)}; ${hint}`)])
  yield* prompt
  yield* stdin.pipe(
    Stream.decodeText(),
    Stream.splitLines,
    Stream.orDie,
    Stream.runForEach((line) => Effect.andThen(respond(chat, line), prompt))
  )
})

export const chat = Command.make(
  "chat",
  flags,
  ({ messages, save, ...flags }) =>
    Effect.gen(function*() {
      const beginning = Option.isSome(messages) ? yield* ConversationFile.read(messages.value) : ConversationFile.empty
      yield* Talker.withTalker(flags, (talker, name) =>
        Effect.flatMap(
          Ref.make(beginning.messages),
          (messages) => talk({ talker, beginning, messages, file: save }, name)
        ))
    }).pipe(Effect.provide(Layer.provideMerge(RunLogger.layer, Layer.provide(Output.layer(flags), RunLog.layerNone))))
).pipe(
  Help.withSections(SubjectFlags.sections),
  Command.withExamples([
    { command: "effect-rl chat --checkpoint runs/arithmetic-0@10", description: "A run after its tenth iteration" },
    {
      command: "effect-rl chat --recipe ./my-recipe.ts --checkpoint runs/my-recipe-0",
      description: "A run of your own recipe, prompted by its renderer"
    },
    { command: "effect-rl chat --backend tinker --model Qwen/Qwen3-8B", description: "A model of a service" }
  ])
)
