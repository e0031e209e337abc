/** `effect-rl chat`: a conversation with a model or a checkpoint. */
import { Message } from "@effect-rl/core"
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import * as Stdio from "effect/Stdio"
import * as Stream from "effect/Stream"
import * as Terminal from "effect/Terminal"
import { Output } from "../terminal/Output.ts"
import { RunLog } from "../terminal/RunLog.ts"
import * as Untrusted from "../terminal/Untrusted.ts"
import * as SampleFlags from "./SampleFlags.ts"
import * as Talker from "./Talker.ts"

/** Begins anew. */
const resetWord = "/reset"

const hint = `${resetWord} begins anew, Ctrl-D leaves`

type Conversation = ReadonlyArray<Message.Message>

/** Answers one line of the person. */
const respond = Effect.fnUntraced(function*(talk: Talker.Talker, conversation: Ref.Ref<Conversation>, line: string) {
  const output = yield* Output
  if (line.trim() === resetWord) return yield* Ref.set(conversation, [])
  if (line.trim() === "") return
  const asked = [...yield* Ref.get(conversation), Message.user(line)]
  const answer = yield* talk(asked, `chat/${asked.length}`)
  yield* Ref.set(conversation, [...asked, answer.message])
  yield* output.lines(Untrusted.showLines(Talker.shown(answer)).split("\n"))
  yield* output.record({ type: "answer", ...answer })
})

const talkWith = Effect.fnUntraced(function*(talk: Talker.Talker, name: string) {
  const output = yield* Output
  const terminal = yield* Terminal.Terminal
  const { stdin, stdinIsTerminal } = yield* Stdio.Stdio
  const conversation = yield* Ref.make<Conversation>([])
  const prompt = (yield* stdinIsTerminal) ? Effect.ignore(terminal.display("> ")) : Effect.void
  yield* output.lines([output.style.dim(`${Untrusted.show(name)}; ${hint}`)])
  yield* prompt
  yield* stdin.pipe(
    Stream.decodeText(),
    Stream.splitLines,
    Stream.orDie,
    Stream.runForEach((line) => Effect.andThen(respond(talk, conversation, line), prompt))
  )
})

export const chat = Command.make("chat", SampleFlags.flags, (flags) =>
  Talker.withTalker(flags, talkWith).pipe(
    Effect.provide(Layer.provide(Output.layer(flags), RunLog.layerNone))
  ))
