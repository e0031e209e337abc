import { AgentCommand } from "@effect-rl/recipes"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const values = { task: "a {file} b", file: "/tmp/task", model: "tiny", verdict: "/tmp/verdict" }

const argv = (text: string) => Effect.map(AgentCommand.parse(text), (command) => AgentCommand.filled(command, values))

describe("an agent's command", () => {
  it.effect("is split at white space outside quotes", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* argv(`node  "my agent.js" --say='it is "so"' x""y ''`), [
        "node",
        "my agent.js",
        `--say=it is "so"`,
        "xy",
        ""
      ])
    }))

  it.effect("has its placeholders filled in without a shell, and inserted values are not expanded again", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* argv("agent {task} --model={model} {unknown} $HOME"), [
        "agent",
        "a {file} b",
        "--model=tiny",
        "{unknown}",
        "$HOME"
      ])
    }))

  it.effect("knows which placeholders it contains", () =>
    Effect.gen(function*() {
      const command = yield* AgentCommand.parse("agent --in {file}")
      assert.deepStrictEqual([command.has("file"), command.has("task")], [true, false])
    }))

  it.effect("is refused if it is empty or a quote is not closed", () =>
    Effect.gen(function*() {
      const errors = yield* Effect.forEach(["  ", "agent 'x"], (text) => Effect.flip(AgentCommand.parse(text)))
      assert.deepStrictEqual(errors.map(({ message }) => message), [
        `agent is "  ", expected a program and its arguments, such as "node my-agent.js {task}"`,
        `agent is "agent 'x", expected as many closing quotes as opening ones`
      ])
    }))
})
