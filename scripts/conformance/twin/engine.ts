/**
 * What the embedded engine computes with the models of `models.py`: log-probabilities, updates with each loss, samples, the adapters'
 * files, and the values of blocks of GGUF files.
 */
import { Loss, Tinker } from "@effect-rl/core"
import { Datum, ModelInput, type SamplingClient, type TrainingClient } from "@effect-rl/core/backend"
import { Engine, Merge } from "@effect-rl/engine"
import * as Kernels from "@effect-rl/engine/numerics/Kernels"
import * as Memory from "@effect-rl/engine/numerics/Memory"
import * as TensorType from "@effect-rl/engine/numerics/TensorType"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Array, Effect, FileSystem, Path, Record, Schema } from "effect"

const Numbers = Schema.Array(Schema.Number)

const Entry = Schema.Struct({
  name: Schema.String,
  model: Schema.String,
  tokens: Schema.NonEmptyArray(Schema.Array(Schema.Int)),
  policy: Schema.Array(Schema.Struct({ drift: Numbers, advantages: Numbers, mask: Numbers })),
  learningRate: Schema.Finite,
  /** Number of tokens drawn with each sampling method. */
  draws: Schema.Int,
  sampling: Schema.Array(Schema.Struct({ temperature: Schema.Finite, topK: Schema.Int, topP: Schema.Finite }))
})
type Entry = typeof Entry.Type

const Plan = Schema.Struct({
  entries: Schema.Array(Entry),
  losses: Schema.NonEmptyArray(Schema.String),
  steps: Schema.Int,
  epsilon: Schema.Finite,
  /** Number of tokens whose logits are compared, from the start of the vocabulary. */
  candidates: Schema.Int
})
type Plan = typeof Plan.Type

const [folder = ""] = process.argv.slice(2)

const policyLosses: Readonly<Record<string, Loss.Loss<"PolicyTokens">>> = {
  importance_sampling: Loss.importanceSampling,
  ppo: Loss.ppo(),
  cispo: Loss.cispo(),
  dro: Loss.dro(),
  gspo: Loss.gspo()
}

const score = (sampler: SamplingClient.SamplingClient, { tokens }: Entry) =>
  Effect.forEach(
    tokens,
    (own) =>
      Effect.map(
        sampler.computeLogprobs(ModelInput.fromTokens(own)),
        (values) => Array.fromIterable(values.subarray(1))
      )
  )

const shifted = (tokens: ReadonlyArray<number>) => ({
  modelInput: ModelInput.fromTokens(tokens.slice(0, -1)),
  targetTokens: Int32Array.from(tokens.slice(1))
})

/** One pass over all sequences with a loss. */
const pass = (client: TrainingClient.TrainingClient, { policy, tokens }: Entry, name: string, sampled: Sampled) => {
  const loss = policyLosses[name]
  if (loss === undefined) {
    const data = Array.map(tokens, (own) => {
      const { modelInput, targetTokens } = shifted(own)
      return Datum.weightedTokens(modelInput, { targetTokens, weights: new Float32Array(targetTokens.length).fill(1) })
    })
    return client.forwardBackward(data, Loss.crossEntropy)
  }
  const data = Array.map(tokens, (own, index) => {
    const { modelInput, targetTokens } = shifted(own)
    return Datum.policyTokens(modelInput, {
      targetTokens,
      logprobs: Float32Array.from(sampled[index] ?? []),
      advantages: Float32Array.from(policy[index]?.advantages ?? []),
      mask: Float32Array.from(policy[index]?.mask ?? [])
    })
  })
  return client.forwardBackward(data, loss)
}

/** The sampler's log-probabilities for each sequence. */
type Sampled = ReadonlyArray<ReadonlyArray<number>>

/** Trains a new adapter with a loss, saves it, and returns a sampler of its weights. */
const trained = Effect.fnUntraced(function*(plan: Plan, entry: Entry, name: string, sampled: Sampled) {
  const tinker = yield* Tinker.Tinker
  const client = yield* tinker.createLoraTrainingClient({ baseModel: entry.model, loraRank: 4, seed: 1 })
  const save = (name: string) => Effect.flatMap(client.saveState(name), (pending) => pending.await)
  const start = yield* save("start")
  for (let step = 0; step < plan.steps; step++) {
    yield* pass(client, entry, name, sampled)
    yield* Effect.flatMap(
      client.optimStep({ learningRate: entry.learningRate, eps: plan.epsilon }),
      (pending) => pending.await
    )
  }
  const end = yield* save("end")
  return {
    start: start.path,
    end: end.path,
    scores: yield* score(yield* client.saveWeightsAndGetSamplingClient, entry)
  }
}, Effect.scoped)

/** Log-probabilities of the vocabulary's first tokens after each token of the first sequence. */
const logits = Effect.fnUntraced(
  function*(sampler: SamplingClient.SamplingClient, candidates: number, { tokens }: Entry) {
    const prompt = ModelInput.fromTokens(tokens[0])
    const all = Int32Array.from({ length: (prompt.length - 1) * candidates }, (_, cell) => cell % candidates)
    const { targetPromptLogprobs } = yield* sampler.sample({
      prompt,
      params: { maxTokens: 1, seed: 1 },
      targetPromptLogprobs: { candidates, tokens: all }
    })
    return targetPromptLogprobs?.logprobs ?? new Float32Array()
  }
)

/** The tokens drawn after the first sequence with each sampling method. */
const draw = (sampler: SamplingClient.SamplingClient, { draws, sampling, tokens }: Entry) =>
  Effect.forEach(sampling, (settings, index) =>
    Effect.map(
      sampler.sample({
        prompt: ModelInput.fromTokens(tokens[0]),
        numSamples: draws,
        params: { maxTokens: 1, seed: 1_000_000 * index, stop: [], ...settings }
      }),
      ({ sequences }) => sequences.flatMap(({ tokens }) => Array.fromIterable(tokens))
    ))

/** All computations with one model. */
const compute = Effect.fnUntraced(function*(plan: Plan, entry: Entry) {
  const { candidates, losses } = plan
  const tinker = yield* Tinker.Tinker
  const sampler = yield* tinker.createSamplingClient({ baseModel: entry.model })
  const base = yield* score(sampler, entry)
  const sampled = base.map((own, index) =>
    own.map((logprob, t) => Math.fround(logprob + (entry.policy[index]?.drift[t] ?? 0)))
  )
  const runs = yield* Effect.forEach(losses, (loss) => trained(plan, entry, loss, sampled))
  return { base, sampled, runs, logits: yield* logits(sampler, candidates, entry), drawn: yield* draw(sampler, entry) }
})

const run = Effect.fnUntraced(function*(plan: Plan, entry: Entry) {
  const path = yield* Path.Path
  const fs = yield* FileSystem.FileSystem
  const { model, name } = entry
  const checkpoints = path.join(folder, `${name}-checkpoints`)
  const { base, drawn, logits, runs, sampled } = yield* Effect.scoped(compute(plan, entry)).pipe(
    Effect.provide(Engine.layerOptions({ models: [model], checkpoints, workers: 2 }))
  )
  const folderOf = (uri: string) => path.join(checkpoints, uri.slice("engine://".length))
  const [{ end, scores, start }] = runs
  const merged = path.join(folder, `${name}-merged`)
  yield* Merge.write({ model, adapter: folderOf(end), target: merged })
  const logitsFile = path.join(folder, `${name}-logits`)
  yield* fs.writeFile(logitsFile, new Uint8Array(logits.buffer))
  const ends = Object.fromEntries(plan.losses.map((loss, index) => [loss, folderOf(runs[index]?.end ?? "")]))
  return { name, base, sampled, drawn, trained: scores, start: folderOf(start), ends, merged, logits: logitsFile }
})

/** The decoded values of blocks of each GGUF type, as base64. */
const dequantize = (blocks: Readonly<Record<string, Uint8Array>>) => {
  const memory = Memory.make()
  const { allocate } = Memory.reserver(memory)
  const kernels = Kernels.instantiate(Kernels.compile(), memory)
  return Record.fromIterableWith(TensorType.names, (type) => {
    const bytes = blocks[type] ?? new Uint8Array()
    const values = TensorType.blockValues(type)
    const count = bytes.length / TensorType.bytesOf(type, values) * values
    const [source, target] = [allocate(Math.ceil(bytes.length / 4)), allocate(count)]
    Memory.bytes(memory, source, bytes.length).set(bytes)
    kernels.dequantize(target, source, TensorType.idOf(type), count)
    return [type, Buffer.from(Memory.bytes(memory, target, count * 4)).toString("base64")]
  })
}

const Blocks = Schema.Record(Schema.String, Schema.Uint8ArrayFromBase64)

const program = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const read = (name: string) => fs.readFileString(path.join(folder, name))
  const write = (name: string, value: unknown) => fs.writeFileString(path.join(folder, name), JSON.stringify(value))
  const blocks = yield* Schema.decodeUnknownEffect(Schema.fromJsonString(Blocks))(yield* read("blocks.json"))
  yield* write("values.json", dequantize(blocks))
  const plan = yield* Schema.decodeUnknownEffect(Schema.fromJsonString(Plan))(yield* read("plan.json"))
  yield* write("results.json", yield* Effect.forEach(plan.entries, (entry) => run(plan, entry)))
})

program.pipe(Effect.provide(NodeServices.layer), NodeRuntime.runMain)
