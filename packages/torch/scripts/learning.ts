// Checks that the PyTorch backend learns from random weights: node --conditions=@effect-rl/source packages/torch/scripts/learning.ts FOLDER
// DEVICE RUN [ITERATIONS]. An answer's reward is the share of its tokens with an even id, which is about half at random. The run's records
// are kept.
import {
  Advantage,
  type ChatModel,
  Credit,
  Env,
  EnvGroupBuilder,
  Rl,
  RLDataset,
  RunRecord,
  Tinker
} from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { Renderers, type Tokenizer } from "@effect-rl/core/renderers"
import { RunDirectory } from "@effect-rl/files"
import { TorchBackend } from "@effect-rl/torch"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Array, Console, Effect, Stream } from "effect"

const [folder = "", device = "cuda", out = "", iterations = "15"] = process.argv.slice(2)
const name = "model"

/** Writes token ids as text; the content of the prompts does not matter. */
const tokenizer: Tokenizer.Tokenizer = {
  encode: (text) => Int32Array.from(text, (letter) => letter.charCodeAt(0) % 256),
  decode: (tokens) => Int32Array.from(tokens).join(" "),
  specialToken: () => undefined,
  bosToken: undefined,
  eosTokenId: undefined,
  fingerprint: "ids"
}

const prompts = Array.makeBy(
  8,
  (index) => ({ key: `prompt ${index}`, tokens: Array.makeBy(16, (t) => 10 + (index * 31 + t * 7) % 400) })
)

const group = ({ key, tokens }: typeof prompts[number]) =>
  EnvGroupBuilder.make({
    key,
    size: 8,
    makeEnv: () =>
      Effect.succeed<Env.Env>({
        initialObservation: Effect.succeed(Env.prompt(ModelInput.fromTokens(tokens), [])),
        step: ({ tokens }) =>
          Effect.succeed({ _tag: "Done", reward: tokens.filter((token) => token % 2 === 0).length / tokens.length })
      })
  })

const train = Effect.gen(function*() {
  const capabilities = yield* Tinker.Tinker.use((tinker) => tinker.capabilities(name))
  const model: ChatModel.ChatModel = {
    name,
    tokenizer,
    capabilities,
    // An answer ends only at its maximum length.
    renderer: { ...yield* Renderers.byName("role_colon", tokenizer), stop: [] }
  }
  yield* Rl.run({
    model,
    dataset: RLDataset.fromArray(prompts, { groupsPerBatch: prompts.length, epochs: Number(iterations), group }),
    sampling: { maxTokens: 32 },
    update: { learningRate: 5e-3, credit: Credit.groupRelative(Advantage.centered) }
  }).pipe(
    Stream.filter(RunRecord.guards.Updated),
    Stream.runForEach(({ iteration, reward }) => Console.log(`${iteration} ${reward?.mean.toFixed(3)}`))
  )
})

const python = process.env["EFFECT_RL_PYTHON"] ?? "python3"
const backend = TorchBackend.layer({ model: folder, name, python, device, checkpoints: `${out}/checkpoints` })

NodeRuntime.runMain(
  train.pipe(Effect.provide([backend, RunDirectory.layer(out)]), Effect.provide(NodeServices.layer))
)
