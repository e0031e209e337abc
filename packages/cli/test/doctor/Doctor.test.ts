import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import * as CommandLine from "../CommandLine.ts"

const { run } = CommandLine

describe("effect-rl doctor", () => {
  it.effect("reports each check of the engine and its model as working", () =>
    Effect.gen(function*() {
      const { exit, out } = yield* run("doctor", "--model", "effect-rl/tiny-64")
      assert.isTrue(Exit.isSuccess(exit))
      const checks = out.flatMap((line) => /^works +(\S+)/.exec(line)?.[1] ?? [])
      assert.deepStrictEqual(checks, [
        "backend",
        "model",
        "tokenizer",
        "renderer",
        "weights",
        "sampling",
        "seeds",
        "logprobs",
        "sandbox"
      ])
      assert.match(out.at(-1) ?? "", /^ready: .*effect-rl (-- )?train/)
    }))

  it.effect("reports each check of the mock backend as working", () =>
    Effect.gen(function*() {
      const { exit, out } = yield* run("doctor", "--backend", "mock", "--model", "Qwen/Qwen3-8B")
      assert.isTrue(Exit.isSuccess(exit), out.join("\n"))
      assert.include(out.join("\n"), "seeds of samples were found")
    }))

  it.effect("stops at the first failure, lists the sandboxes, and fails", () =>
    Effect.gen(function*() {
      const { errors, exit, out } = yield* run("doctor", "--model", "effect-rl/tiny-65")
      assert.isTrue(Exit.isFailure(exit))
      assert.match(out.at(-2) ?? "", /^fails +model +.*effect-rl\/tiny-64/)
      assert.match(out.at(-1) ?? "", /^\S+ +sandbox +/)
      assert.strictEqual(errors.at(-1), "error: not ready: the check \"model\" failed")
    }))

  it.effect("says what an unreachable backend needs", () =>
    Effect.gen(function*() {
      const { exit, out } = yield* run("doctor", "--backend", "tinker", "--base-url", "http://127.0.0.1:1")
      assert.isTrue(Exit.isFailure(exit))
      assert.match(out.at(-2) ?? "", /^fails +backend +/)
      assert.match(out.at(-1) ?? "", /^\S+ +sandbox +/)
    }))

  it.effect("checks a recipe's model with its renderer, also for a user's module", () =>
    Effect.gen(function*() {
      const recipe = new URL("../train/own-renderer-recipe.ts", import.meta.url).pathname
      const { exit, out } = yield* run("doctor", "--recipe", recipe)
      assert.isTrue(Exit.isSuccess(exit), out.join("\n"))
      const text = out.join("\n")
      assert.match(text, /^works +recipe +greetings: /m)
      assert.match(text, /^works +renderer +role_colon: /m)
      assert.include(text, `train ${recipe} --backend engine --model effect-rl/tiny-64`)
      const { errors } = yield* run("doctor", "--recipe", "arithmetik")
      assert.include(errors.at(-1), "did you mean \"arithmetic\"?")
    }))
})
