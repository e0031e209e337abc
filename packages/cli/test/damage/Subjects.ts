/** Short runs with bit-identical outcomes, however often they are killed: on a scripted backend and on the engine. */
import {
  ChatModel,
  ProblemEnv,
  ProblemGroupBuilder,
  Rl,
  RLDataset,
  type RunRecord,
  type RunStore,
  type Tinker
} from "@effect-rl/core"
import type { Tokenizer } from "@effect-rl/core/renderers"
import { Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import { Engine } from "@effect-rl/engine"
import { Sums } from "@effect-rl/recipes"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer, Stream } from "effect"

export type Run = Stream.Stream<RunRecord.RunRecord, { readonly _tag: string; readonly message: string }, Needs>

type Backend = Tinker.Tinker | Tokenizer.Tokenizers
type Needs = RunStore.RunStore | Backend

export interface Subject {
  readonly run: (seed: number) => Run
  /** Makes the backend, which keeps its checkpoints in the folder if it has files. */
  readonly backend: (checkpoints: string) => Layer.Layer<Backend>
  readonly hasFiles: boolean
}

const saving = { saveEvery: 2, evalEvery: 0 }

const tokenizer = TestTokenizer.characters

const sums = [["1 + 1", "2"], ["2 + 3", "5"], ["4 + 4", "8"], ["3 + 6", "9"]] as const

const answerTo = (prompt: string) => sums.find(([question]) => prompt.includes(question))?.[1] ?? ""

/** Answers correctly if the turn's seed is even. */
const script: Script.Script = {
  sample: Script.reply(
    tokenizer,
    (prompt, { seed = 0 }) => Script.text(tokenizer, `${seed % 2 === 0 ? answerTo(prompt) : "0"}<|im_end|>`)
  )
}

export const scripted: Subject = {
  hasFiles: false,
  backend: () => Layer.merge(ScriptedTinker.layer(script), TestTokenizer.layer(tokenizer)),
  run: (seed) =>
    Stream.unwrap(Effect.gen(function*() {
      const model = yield* ChatModel.resolve(Script.defaultModel, { renderer: "qwen3_instruct" })
      const dataset = RLDataset.fromArray(sums, {
        groupsPerBatch: 2,
        epochs: 3,
        group: ([question, referenceAnswer], index) =>
          ProblemGroupBuilder.make({
            key: `sum/${index}`,
            size: 4,
            env: () =>
              ProblemEnv.make({
                model,
                question,
                referenceAnswer,
                checkAnswer: (text) => text.trim() === referenceAnswer
              })
          })
      })
      return Rl.run({
        model,
        dataset,
        sampling: { maxTokens: 8 },
        update: { learningRate: 1e-2 },
        run: { ...saving, seed }
      })
    }))
}

export const engine: Subject = {
  hasFiles: true,
  backend: (checkpoints) =>
    Engine.layerOptions({ checkpoints, workers: 1 }).pipe(Layer.provide(NodeServices.layer), Layer.orDie),
  run: (seed) =>
    Stream.unwrap(Effect.map(ChatModel.resolve("effect-rl/tiny-64"), (model) =>
      Rl.run({
        model,
        dataset: Sums.dataset(Sums.boxed, { model, batches: 5, groupsPerBatch: 2, groupSize: 4 }),
        lora: { rank: 4 },
        sampling: { maxTokens: 16 },
        update: { learningRate: 1e-3 },
        run: { ...saving, seed }
      })))
}
