/**
 * A task with a planted best instruction: each question is answered correctly only if the instruction contains its word. A reflector adds a
 * word of a list to the present instruction, drawn by its key.
 */
import { Evaluator, Message, type MessagePolicy, RLDataset, RunRecord } from "@effect-rl/core"
import { Seed } from "@effect-rl/core/environments"
import { Prompts } from "@effect-rl/core/program"
import { Script } from "@effect-rl/core/testing"
import { Effect, Stream } from "effect"
import * as Task from "../rl/Task.ts"

export const words = ["digits", "units", "signs"] as const

export const questions = Array.from({ length: 6 }, (_, index) => ({ index, word: words[index % 3] ?? "" }))

/** Answers "yes" if the prompt contains the question's word outside of the question, and "no" otherwise. */
export const answers: Script.SampleScript = Script.reply(Task.tokenizer, (prompt) => {
  const word = /about (\w+)\?/.exec(prompt)?.[1] ?? "?"
  return Task.say(prompt.split(word).length > 2 ? "yes" : "no")
})

export const script: Script.Script = { models: { [Script.defaultModel]: { contextLength: 4096 } }, sample: answers }

export const layer = Task.layer(script)

/** The present instruction in the reflector's prompt. */
export const present = (messages: ReadonlyArray<Message.Message>) =>
  /<present_instruction>\n([^]*)\n<\/present_instruction>/.exec(messages.map(Message.text).join())?.[1] ?? ""

const proposals = [...words, "rhymes", "colours"]

export const reflector: MessagePolicy.MessagePolicy = {
  respond: ({ key, messages }) =>
    Effect.sync(() => {
      const word = proposals[Seed.derive(0, key) % proposals.length] ?? ""
      return Message.assistant(`It failed. <instruction>${present(messages)} ${word}</instruction>`)
    })
}

/** The instruction that the run begins with; it contains none of the words. */
export const initial = "Mind:"

type Overrides = Partial<Pick<Prompts.Options, "maxRollouts" | "reflectorAnswers" | "run" | "instruction">> & {
  readonly reflector?: MessagePolicy.MessagePolicy
  readonly epochs?: number
}

/** Options for minibatches of three questions with one attempt each, two per epoch, and 12 epochs unless `epochs` differs. */
export const options = ({ epochs = 12, ...overrides }: Overrides = {}) =>
  Effect.map(Task.model, (model) => {
    const dataset = (instruction: string) =>
      RLDataset.problems(questions, {
        model,
        prefix: [Message.system(instruction)],
        groupsPerBatch: 3,
        groupSize: 1,
        epochs,
        shuffle: true,
        problem: ({ index, word }) => ({ question: `Question ${index} about ${word}?`, answer: "yes" })
      })
    const groups = (instruction: string) => Effect.runSync(dataset(instruction).batch(0, 0))
    return {
      model,
      instruction: initial,
      dataset,
      validation: (instruction: string) =>
        Effect.runSync(Effect.all([dataset(instruction).batch(0, 0), dataset(instruction).batch(1, 0)])).flat(),
      evaluators: (instruction: string) => [
        Evaluator.testSet({ name: "held_out", groups: groups(instruction), maxTokens: 8 })
      ],
      reflector,
      sampling: { maxTokens: 8 },
      ...overrides,
      run: { evalEvery: 0, ...overrides.run }
    }
  })

export const run = (overrides: Overrides = {}) =>
  Stream.unwrap(Effect.map(options(overrides), (options) => Prompts.run(options)))

/** The best candidate of the run's newest checkpoint. */
export const best = Effect.map(Task.records, Prompts.best)

const isStable = ([name]: readonly [string, number]) => !name.startsWith("time/")

/** The metrics of each iteration, without times. */
export const updates = Effect.map(
  Task.current(RunRecord.guards.Updated),
  (updates) => updates.map(({ metrics }) => Object.fromEntries(Object.entries(metrics).filter(isStable)))
)

/** The cursor of the newest checkpoint. */
export const cursor = Effect.map(Task.current(RunRecord.guards.Saved), (saved) => saved.at(-1)?.cursor)
