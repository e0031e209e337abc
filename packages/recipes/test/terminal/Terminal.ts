/** Terminal episodes with a model whose messages a test supplies. */
import { Rollout } from "@effect-rl/core"
import type { Sampling } from "@effect-rl/core/backend"
import { Renderers } from "@effect-rl/core/renderers"
import { ShellEnv, type ShellTask } from "@effect-rl/recipes"
import { SandboxFiles } from "@effect-rl/sandbox"
import { Effect } from "effect"
import * as TestModel from "../TestModel.ts"

const { tokenizer } = TestModel

/** A `bash` tool call as the text of a model's message. */
export const command = (text: string) =>
  `<tool_call>\n${JSON.stringify({ name: "bash", arguments: { command: text } })}\n</tool_call>`

export const sampled = (text: string): Sampling.SampledTokens => {
  const tokens = tokenizer.encode(`${text}<|im_end|>`)
  return { tokens, logprobs: new Float32Array(tokens.length), stopReason: "stop" }
}

/** A task whose tests are a single script. */
export const task = (test: string, given: Partial<ShellTask.ShellTask> = {}): ShellTask.ShellTask => ({
  id: "task",
  instruction: "Do it.",
  workdir: "/app",
  files: SandboxFiles.make({ "given.txt": "given\n" }),
  environment: {},
  memory: 512 * 1024 * 1024,
  tests: { files: SandboxFiles.make({ "test.sh": test }), environment: {}, timeout: "10 seconds" },
  ...given
})

export const makeEnv = (options: Omit<ShellEnv.Options, "model">) =>
  Effect.flatMap(
    Renderers.byName("qwen3_instruct", tokenizer),
    (renderer) => ShellEnv.make({ ...options, model: { renderer } })
  )

/** Runs an episode in which the model says these texts in turn, and then that it is done. */
export const play = (options: Omit<ShellEnv.Options, "model">, ...texts: ReadonlyArray<string>) =>
  Effect.flatMap(makeEnv(options), (env) =>
    Rollout.episode(
      env,
      { act: ({ key }) => Effect.succeed(sampled(texts[key.turn] ?? "Done.")) },
      { iteration: 0, group: "task", member: 0, attempt: 0 }
    )).pipe(Effect.scoped)
