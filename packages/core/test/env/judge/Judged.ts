/** Groups with scripted members, and judges that count their requests. */
import { type EnvGroupBuilder, Message, type MessagePolicy, type Policy, Rollout } from "@effect-rl/core"
import { Renderers } from "@effect-rl/core/renderers"
import { Script, TestTokenizer } from "@effect-rl/core/testing"
import { Effect, Ref } from "effect"

const tokenizer = TestTokenizer.characters

export const model = Effect.map(Renderers.byName("qwen3_instruct", tokenizer), (renderer) => ({ renderer }))

/** A policy whose member `m` says the m-th text. */
export const says = (...texts: ReadonlyArray<string>): Policy.Policy => ({
  act: ({ key }) => Effect.succeed(Script.text(tokenizer, texts[key.member] ?? ""))
})

export const play = <E>(builder: EnvGroupBuilder.EnvGroupBuilder<E>, ...texts: ReadonlyArray<string>) =>
  Rollout.group(builder, says(...texts))

/** A judge that gives each `answer` after a second, and records the keys of its requests and how many were in progress at once. */
export const watched = Effect.fnUntraced(
  function*<E>(answer: (request: MessagePolicy.Request) => Effect.Effect<string, E>) {
    const now = yield* Ref.make(0)
    const most = yield* Ref.make(0)
    const keys = yield* Ref.make<ReadonlyArray<string>>([])
    const judge: MessagePolicy.MessagePolicy<E> = {
      respond: (request) =>
        Effect.acquireUseRelease(
          Effect.gen(function*() {
            const count = yield* Ref.updateAndGet(now, (count) => count + 1)
            yield* Ref.update(most, (most) => Math.max(most, count))
            yield* Ref.update(keys, (before) => [...before, request.key])
          }),
          () => Effect.delay(Effect.map(answer(request), Message.assistant), "1 second"),
          () => Ref.update(now, (count) => count - 1)
        )
    }
    return { judge, most: Ref.get(most), now: Ref.get(now), keys: Ref.get(keys) }
  }
)
