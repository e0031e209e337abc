/** A run small enough to follow: sums asked of a scripted model that speaks ChatML. */
import { ChatModel, ProblemEnv, ProblemGroupBuilder, RLDataset, RunStore, type Train } from "@effect-rl/core"
import { Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import { Effect, Layer } from "effect"

export const tokenizer = TestTokenizer.characters

export const sums = [["1 + 1", "2"], ["2 + 3", "5"], ["4 + 4", "8"], ["3 + 6", "9"]] as const

/** A scripted backend, its log and audit, tokenizers and an empty run store. */
export const layer = (script: Script.Script = {}) =>
  Layer.mergeAll(ScriptedTinker.layer(script), TestTokenizer.layer(tokenizer), RunStore.RunStore.layerMemory)

export const say = (text: string) => Script.text(tokenizer, `${text}<|im_end|>`)

const answerTo = (prompt: string) => sums.find(([question]) => prompt.includes(question))?.[1] ?? ""

/** Answers right where the turn's seed is even: half of any group. */
export const answersHalf = Script.reply(
  tokenizer,
  (prompt, { seed = 0 }) => say(seed % 2 === 0 ? answerTo(prompt) : "0")
)

export const answersNone = Script.reply(tokenizer, () => say("0"))

export const model = ChatModel.resolve(Script.defaultModel, { renderer: "qwen3_instruct" })

type Overrides = Partial<Omit<Train.Config, "model" | "dataset" | "onFailure" | "evaluators">> & {
  readonly epochs?: number
  readonly size?: number
}

/** Two groups of `size` (4) attempts per iteration, two iterations per epoch. */
export const config = ({ epochs = 1, size = 4, ...overrides }: Overrides = {}) =>
  Effect.map(model, (model) => ({
    model,
    dataset: RLDataset.fromArray(sums, {
      groupsPerBatch: 2,
      epochs,
      group: ([question, answer], index) =>
        ProblemGroupBuilder.make({
          key: `sum/${index}`,
          size,
          env: () =>
            ProblemEnv.make({ model, question, referenceAnswer: answer, checkAnswer: (text) => text.trim() === answer })
        })
    }),
    learningRate: 1e-2,
    maxTokens: 8,
    evalEvery: 0,
    ...overrides
  }))
