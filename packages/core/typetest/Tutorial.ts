/** A task, a dataset, a run, and the Layer that selects the backend. */
import {
  ChatModel,
  Loss,
  Message,
  ProblemEnv,
  ProblemGroupBuilder,
  Rl,
  RLDataset,
  type RunRecord,
  type RunStore,
  Tinker,
  type TinkerError
} from "@effect-rl/core"
import { Datum, ModelInput } from "@effect-rl/core/backend"
import type { Renderer, Tokenizer } from "@effect-rl/core/renderers"
import { Array, Console, Effect, type FileSystem, type Layer, type Path, Stream } from "effect"
import { holds, type Same } from "./Same.ts"

declare const gradeBoxed: (text: string, answer: string) => boolean

export const mathEnv = (model: ChatModel.ChatModel, problem: string, answer: string) =>
  ProblemEnv.make({
    model,
    question: `${problem} Write your answer in \\boxed{} format.`,
    referenceAnswer: answer,
    checkAnswer: (text) => gradeBoxed(text, answer)
  })

const problems = [["What is 15 * 23?", "345"], ["What is 144 / 12?", "12"]] as const

export const gsm8k = (name: string) =>
  Effect.gen(function*() {
    const model = yield* ChatModel.resolve(name)
    const dataset = RLDataset.fromArray(problems, {
      groupsPerBatch: 2,
      group: ([question, answer], index) =>
        ProblemGroupBuilder.make({ key: `gsm8k/${index}`, size: 4, env: () => mathEnv(model, question, answer) })
    })
    return Rl.run({
      model,
      dataset,
      sampling: { maxTokens: 64 },
      update: { learningRate: 1e-3 },
      run: { iterations: 4 }
    })
  }).pipe(Stream.unwrap)

type Failures =
  | ChatModel.ChatModelError
  | Renderer.RendererError
  | Rl.Error
  | Tokenizer.TokenizerError

holds<Same<Stream.Error<ReturnType<typeof gsm8k>>, Failures>>()
holds<Same<Stream.Services<ReturnType<typeof gsm8k>>, Tinker.Tinker | Tokenizer.Tokenizers | RunStore.RunStore>>()

interface BootError {
  readonly _tag: "BootError"
}
declare const embedded: Layer.Layer<Tinker.Tinker | Tokenizer.Tokenizers, BootError, FileSystem.FileSystem | Path.Path>
declare const overHttp: Layer.Layer<Tinker.Tinker, TinkerError.TinkerError>
declare const huggingFace: Layer.Layer<Tokenizer.Tokenizers, never, FileSystem.FileSystem | Path.Path>
declare const runDirectory: Layer.Layer<RunStore.RunStore, RunStore.RunError, FileSystem.FileSystem | Path.Path>
declare const node: Layer.Layer<FileSystem.FileSystem | Path.Path>

const report = (record: RunRecord.RunRecord) =>
  record._tag === "Updated"
    ? Console.log(`Iteration ${record.iteration}: mean reward ${record.reward?.mean.toFixed(2)}`)
    : Effect.void

export const laptop: Effect.Effect<void, Failures | BootError> = gsm8k("effect-rl/tiny-128").pipe(
  Stream.runForEach(report),
  Effect.provide([embedded, runDirectory]),
  Effect.provide(node)
)

export const hosted: Effect.Effect<void, Failures> = gsm8k("Qwen/Qwen3.5-4B").pipe(
  Stream.runForEach(report),
  Effect.provide([overHttp, huggingFace, runDirectory]),
  Effect.provide(node)
)

const attempts = Effect.fnUntraced(
  function*(prompt: ModelInput.ModelInput, model: ChatModel.ChatModel, answer: string) {
    const tinker = yield* Tinker.Tinker
    const sampler = yield* tinker.createSamplingClient({ baseModel: model.name })
    const { sequences } = yield* sampler.sample({
      prompt,
      numSamples: 8,
      params: { maxTokens: 256, stop: model.renderer.stop }
    })
    return yield* Effect.forEach(
      sequences,
      (sequence) =>
        Effect.map(model.renderer.parse(sequence.tokens), ({ message }) => ({
          sequence,
          reward: Number(gradeBoxed(Message.text(message), answer))
        }))
    )
  }
)

/** The same loop, written directly on the clients. */
export const byHand = Effect.gen(function*() {
  const tinker = yield* Tinker.Tinker
  const model = yield* ChatModel.resolve("meta-llama/Llama-3.1-8B", { renderer: "llama3" })
  const training = yield* tinker.createLoraTrainingClient({ baseModel: model.name, loraRank: 32 })
  const groups = yield* Effect.forEach(problems, ([question, answer]) =>
    Effect.gen(function*() {
      const prompt = yield* model.renderer.generationPrompt([Message.user(question)])
      const sampled = yield* attempts(prompt, model, answer)
      const mean = sampled.reduce((sum, { reward }) => sum + reward, 0) / sampled.length
      return sampled.filter(({ reward }) => reward !== mean).map(({ reward, sequence }) =>
        Datum.policyTokens(ModelInput.append(prompt, sequence.tokens.subarray(0, -1)), {
          targetTokens: sequence.tokens,
          logprobs: sequence.logprobs,
          advantages: Float32Array.of(reward - mean),
          mask: Float32Array.of(1)
        })
      )
    }), { concurrency: "unbounded" })
  const data = groups.flat()
  if (!Array.isReadonlyArrayNonEmpty(data)) return
  const pass = yield* training.forwardBackward(data, Loss.importanceSampling)
  const update = yield* training.optimStep({ learningRate: 4e-5, beta1: 0.9, beta2: 0.95 })
  yield* pass.await
  yield* update.await
}).pipe(Effect.scoped)

holds<Same<Effect.Services<typeof byHand>, Tinker.Tinker | Tokenizer.Tokenizers>>()
