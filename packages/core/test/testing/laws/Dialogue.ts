/** A dialogue environment that satisfies every law and uses every feature of environments. */
import { Env, EnvMetric, type Message } from "@effect-rl/core"
import { ModelInput, type Sampling } from "@effect-rl/core/backend"
import { LeakAudit, TestTokenizer } from "@effect-rl/core/testing"
import { Effect, Schema, type Scope } from "effect"

export const tokenizer = TestTokenizer.characters

export class Rude extends Schema.TaggedError<Rude>()("Rude", {}) {}

type Requirements = Scope.Scope | LeakAudit.LeakAudit

export type Dialogue = Env.Env<Rude>

const stop: Sampling.Stop = [tokenizer.specialToken("<|im_end|>") ?? 0]

const extended = (input: ModelInput.ModelInput, tokens: Int32Array, text: string) =>
  Env.prompt(ModelInput.append(ModelInput.append(input, tokens), tokenizer.encode(text)), stop)

const turns = 3

/** Three turns of one second each. "bye" ends it early, "boo" fails with a typed error, and each "!" calls a tool. */
export const make = (seed: number): Effect.Effect<Dialogue, never, Requirements> =>
  Effect.gen(function*() {
    const { track } = yield* LeakAudit.LeakAudit
    yield* track("room", Effect.forkScoped(Effect.never))
    let isOver = false
    let turn = 0
    let shown = Env.prompt(ModelInput.fromTokens(tokenizer.encode(`topic ${seed}.`)), stop)
    return {
      countsToolCalls: true,
      initialObservation: Effect.sync(() => shown),
      inject: (messages: ReadonlyArray<Message.Message>) =>
        Effect.sync(() => (shown = extended(
          shown.input,
          new Int32Array(),
          messages.map(({ content }) => content).join()
        ))),
      step: Effect.fnUntraced(function*({ tokens, toolCallsLeft = Infinity }: Env.Action) {
        if (isOver) return yield* Effect.die(new Error("the dialogue is over"))
        yield* Effect.sleep("1 second")
        const text = tokenizer.decode(tokens)
        if (text.includes("boo")) return yield* new Rude()
        const toolCalls = Math.min(text.split("!").length - 1, toolCallsLeft)
        const reported = {
          reward: text.length + seed,
          metrics: { polite: EnvMetric.rate(text.includes("please")), length: EnvMetric.mean(text.length) },
          logs: { text },
          toolCalls
        }
        isOver = ++turn === turns || text.includes("bye")
        if (isOver) return { _tag: "Done", ...reported, stopReason: "completed" } satisfies Env.Done
        shown = extended(shown.input, tokens, `turn ${turn}.`)
        return { _tag: "Continue", ...reported, observation: shown } satisfies Env.Continue
      })
    }
  })

export const options = {
  tokenizer,
  vocabulary: tokenizer.vocabulary,
  replies: ["please go on", "bye", "boo", "look! look! look!"]
} as const
