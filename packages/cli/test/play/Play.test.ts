import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, FileSystem, Path } from "effect"
import * as CommandLine from "../CommandLine.ts"

const play = (recipe: string, input: ReadonlyArray<string>, ...args: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const { errors, exit, out } = yield* CommandLine.runWithInput(
      input.map((line) => `${line}\n`).join(""),
      "play",
      recipe,
      ...args
    )
    assert.deepStrictEqual([Exit.isSuccess(exit), errors], [true, []])
    return out
  })

describe("effect-rl play", () => {
  it.effect("shows the prompt as a model sees it, reads an answer, and shows its reward", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* play("plain-arithmetic", ["well, 91"]), [
        "<|im_start|>user",
        "What is 4 + 5?<|im_end|>",
        "<|im_start|>assistant",
        "9<|im_end|>",
        "<|im_start|>user",
        "What is 44 + 47?<|im_end|>",
        "<|im_start|>assistant",
        "",
        "> well, 91",
        "",
        "reward 1.00 after 1 turn, completed",
        "  format 1.00, correct 1.00",
        "  turn 1, reward 1.00",
        "    question: What is 44 + 47?",
        "    response: well, 91",
        "    reference: 91"
      ])
    }))

  it.effect("shows only the new part of later prompts, and each turn's reward", () =>
    Effect.gen(function*() {
      const out = yield* play("guess-number", ["Guess: 16", "what?", "Guess: 24"])
      const from = out.indexOf("> what?")
      assert.deepStrictEqual(out.slice(from, from + 10), [
        "> what?",
        "reward -1.00",
        "…",
        "<|im_start|>player",
        "what?<|im_end|>",
        "<|im_start|>user",
        "That could not be read. Say only \"Guess: \" and a whole number, such as \"Guess: 7\".<|im_end|>",
        "<|im_start|>assistant",
        "",
        "> Guess: 24"
      ])
      assert.include(out, "reward 0.00 after 3 turns, completed")
    }))

  it.effect("lets a person call tools, also over several lines", () =>
    Effect.gen(function*() {
      const out = yield* play("calculator", [
        "<tool_call>\\",
        "{\"name\": \"calculator\", \"arguments\": {\"expression\": \"91 * 36\"}}\\",
        "</tool_call>",
        "It is 3276."
      ])
      assert.include(out, "3276")
      assert.include(out, "call calculator({\"expression\": \"91 * 36\"})")
      assert.include(out, "reward 1.00 after 2 turns, completed")
      assert.include(out, "  used_calculator 1.00, correct 1.00")
    }))

  it.effect("saves episodes as OpenAI messages, one per line, with tool calls, tool results and reward", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const file = path.join(yield* fs.makeTempDirectoryScoped(), "played.jsonl")
      const call = "<tool_call>\n{\"name\": \"calculator\", \"arguments\": {\"expression\": \"91 * 36\"}}\n</tool_call>"
      yield* play("calculator", [...call.replaceAll("\n", "\\\n").split("\n"), " It is 3276."], "--save", file)
      yield* play("tic-tac-toe", ["[4]", "[0]", "[2]", "[1]", "[6]"], "--save", file)
      const lines = (yield* fs.readFileString(file)).trimEnd().split("\n").map((line) => JSON.parse(line))
      assert.deepStrictEqual(lines.map(({ messages, reward }) => [messages.at(-1).content, reward]), [
        [" It is 3276.", 1],
        ["[6]", 1],
        ["[1]", -1]
      ])
      assert.deepStrictEqual(lines[0].messages.slice(1), [
        { role: "user", content: "What is 91 * 36? Use the calculator, then answer with the number alone." },
        {
          role: "assistant",
          content: "",
          tool_calls: [{
            id: "call_0",
            type: "function",
            function: { name: "calculator", arguments: "{\"expression\": \"91 * 36\"}" }
          }]
        },
        { role: "tool", content: "3276", tool_call_id: "call_0", name: "calculator" },
        { role: "assistant", content: " It is 3276." }
      ])
      const said = (line: number) =>
        lines[line].messages.flatMap(({ content, role }: { readonly content: string; readonly role: string }) =>
          role === "assistant" ? [content] : []
        )
      assert.deepStrictEqual([said(1), said(2)], [["[4]", "[2]", "[6]"], ["[0]", "[1]"]])
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("plays the training problems in order, from any of them on", () =>
    Effect.gen(function*() {
      const out = yield* play("plain-arithmetic", ["104", "no idea"], "--problem", "3", "--episodes", "2")
      assert.include(out, "reward 1.00 after 1 turn, completed")
      assert.include(out.join("\n"), "What is 36 + 87?")
      assert.strictEqual(out.at(-1), "mean reward 0.50 over 2 episodes")
    }))

  it.effect("lets a person play all sides of a game", () =>
    Effect.gen(function*() {
      const out = yield* play("tic-tac-toe", ["[4]", "[0]", "[2]", "[1]", "[6]"])
      const won = out.indexOf("reward 1.00 after 3 turns, completed")
      assert.isAbove(won, 0)
      assert.include(out.slice(won), "reward -1.00 after 2 turns, completed")
      assert.include(out.slice(won), "    move: [6]")
    }))

  it.effect("reports the turns so far if the input ends early", () =>
    Effect.gen(function*() {
      const out = yield* play("guess-number", ["Guess: 5"])
      assert.include(out, "left after 1 turn: the input has ended")
      assert.include(out, "    feedback: Too low")
    }))

  it.effect("escapes control characters in problems and in typed text", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const data = yield* fs.makeTempDirectoryScoped()
      const row = (question: string) => `${JSON.stringify({ question, answer: "So it is.\n#### 7" })}\n`
      yield* fs.writeFileString(path.join(data, "train.jsonl"), row("How \u001b[31mred\u001b[0m is 7?"))
      yield* fs.writeFileString(path.join(data, "test.jsonl"), row("And 8?"))
      const out = yield* play("gsm8k", ["\u001b[2J \\boxed{7}"], "--data", data)
      assert.isFalse(out.some((line) => line.includes("\u001b")))
      assert.include(out.join("\n"), "How \\u{1b}[31mred\\u{1b}[0m is 7?")
      assert.include(out, "> \\u{1b}[2J \\boxed{7}")
      assert.include(out.join("\n"), "reward 1.00 after 1 turn")
    }).pipe(Effect.provide(NodeServices.layer)))
})
