/** `effect-rl merge ADAPTER`: merges a trained adapter and its base model into one folder. */
import { InvalidOption } from "@effect-rl/core"
import { GgufExport, Merge } from "@effect-rl/engine"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as NamedCheckpoint from "../checkpoints/NamedCheckpoint.ts"
import * as RunCheckpoints from "../checkpoints/RunCheckpoints.ts"

const flags = {
  adapter: Argument.String("adapter").pipe(
    Argument.withDescription(
      "Checkpoint of a run, such as runs/arithmetic-0 for the newest, runs/arithmetic-0@10 for the checkpoint after its tenth iteration, @best, "
        + "or engine://… as the run recorded it; or the folder of an adapter in PEFT's format"
    )
  ),
  model: Flag.String("model").pipe(
    Flag.withDescription(
      "The model that the adapter was trained on: a name, a folder or a GGUF file (default: that of the run)"
    ),
    Flag.optional
  ),
  format: Flag.Literals("format", ["folder", "gguf", "gguf-lora"]).pipe(
    Flag.withDescription(
      "folder: merged, as Hugging Face saves models, in F32; gguf: merged into one file for llama.cpp, in F16; gguf-lora: a folder with "
        + "base.gguf and adapter.gguf, which llama.cpp adds to it (default: folder)"
    ),
    Flag.withDefault("folder")
  ),
  out: Flag.String("out").pipe(
    Flag.withMetavar("place"),
    Flag.withDescription("Folder or file to write, which must not exist")
  )
}

const notHere = (found: string) =>
  new InvalidOption.InvalidOption({
    field: "adapter",
    found,
    expected: "a checkpoint of a run on this machine, such as runs/x@10, or the folder of an adapter; "
      + "checkpoints download fetches one from a service"
  })

/** An adapter's folder, and the base model if the adapter is named by its run. */
const adapterOf = Effect.fnUntraced(function*(text: string) {
  const isOfRun = NamedCheckpoint.isAddress(text) || NamedCheckpoint.runIn(text) !== undefined ||
    (yield* RunCheckpoints.isRun(text))
  if (!isOfRun) return { adapter: text, trained: undefined }
  const named = yield* NamedCheckpoint.find(text, "adapter")
  if (named === undefined) return yield* NamedCheckpoint.unknown("adapter", text)
  const { model, run, saved } = named
  const adapter = yield* RunCheckpoints.folderOf(run, saved.statePath)
  return adapter === undefined ? yield* notHere(saved.statePath) : { adapter, trained: model }
})

/** The writers of the output formats. */
const writers = { folder: Merge.write, gguf: GgufExport.merged, "gguf-lora": GgufExport.adapter }

export const merge = Command.make("merge", flags, ({ adapter: named, format, model, out }) =>
  Effect.gen(function*() {
    const { adapter, trained } = yield* adapterOf(named)
    const name = Option.getOrElse(model, () => trained)
    if (name === undefined) {
      const expected = "the model that the adapter was trained on"
      return yield* new InvalidOption.InvalidOption({ field: "--model", found: "absent", expected })
    }
    yield* writers[format]({ model: name, adapter, target: out })
    yield* Console.log(`written: ${out}`)
  })).pipe(Command.withExamples([
    { command: "effect-rl merge runs/arithmetic-0 --out merged", description: "The newest checkpoint of a run" },
    {
      command: "effect-rl merge runs/arithmetic-0@10 --format gguf --out policy.gguf",
      description: "A checkpoint as a file for llama.cpp"
    }
  ]))
