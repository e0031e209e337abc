/** A model folder with a chat template of an unknown family is rendered with the template, sampled and trained. */
import { ChatModel, Message, Rl, RLDataset, RunRecord, RunStore } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import * as Engine from "@effect-rl/engine/Engine"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem, Path, Schema, Stream } from "effect"
import * as GgufPreset from "./checkpoint/GgufPreset.ts"

const template = `{%- for message in messages %}
{{- '<|endoftext|>' ~ message.role | upper ~ ' SAYS ' ~ message.content ~ ' <|im_end|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|endoftext|>ASSISTANT SAYS ' }}{% endif %}`

const Fields = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))

/** A copy of preset tiny-64 with another chat template. */
const folderOf = Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const folder = yield* fs.makeTempDirectoryScoped()
  for (const file of ["config.json", "model.safetensors", "tokenizer.json"]) {
    yield* fs.copyFile(path.join(GgufPreset.folder, file), path.join(folder, file))
  }
  const config = "tokenizer_config.json"
  const fields = yield* Schema.decodeEffect(Fields)(yield* fs.readFileString(path.join(GgufPreset.folder, config)))
  yield* fs.writeFileString(path.join(folder, config), JSON.stringify({ ...fields, chat_template: template }))
  return folder
})

describe("a model folder with a chat template of an unknown family", () => {
  layer(NodeServices.layer)((it) => {
    it.effect("is rendered with its template, sampled, and trained for two iterations", () =>
      Effect.gen(function*() {
        const folder = yield* folderOf
        const program = Effect.gen(function*() {
          const model = yield* ChatModel.resolve(folder)
          assert.strictEqual(model.renderer.name, "chat_template")
          const prompt = yield* model.renderer.generationPrompt([Message.user("1 + 1?")])
          assert.strictEqual(
            model.tokenizer.decode(yield* ModelInput.toTokens(prompt)),
            "<|endoftext|>USER SAYS 1 + 1? <|im_end|><|endoftext|>ASSISTANT SAYS "
          )
          const dataset = RLDataset.problems([[1, 1], [2, 3], [4, 4], [3, 6]] as const, {
            model,
            groupsPerBatch: 2,
            groupSize: 8,
            problem: ([a, b]) => ({
              question: `${a} + ${b}?`,
              answer: String(a + b),
              check: (response: string) => response.length % 2 === 0
            })
          })
          return yield* Stream.runCollect(Rl.run({
            model,
            dataset,
            lora: { rank: 4 },
            sampling: { maxTokens: 8 },
            update: { learningRate: 1e-3 },
            run: { evalEvery: 0 }
          }))
        })
        const records = yield* program.pipe(
          Effect.provide(RunStore.RunStore.layerMemory),
          Effect.provide(Engine.layerOptions({ checkpoints: folder, models: [folder], workers: 0 }))
        )
        const updated = records.filter(RunRecord.guards.Updated)
        assert.deepStrictEqual(updated.map(({ updates }) => updates.length), [1, 1])
        assert.lengthOf(records.filter(RunRecord.guards.GroupRolledOut), 4)
      }))
  })
})
