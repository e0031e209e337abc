/** `effect-rl merge ADAPTER`: a trained adapter and its model as one folder. */
import { Merge } from "@effect-rl/engine"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"

const flags = {
  adapter: Argument.String("adapter").pipe(
    Argument.withDescription(
      "Folder of an adapter in PEFT's format, such as runs/arithmetic-0/checkpoints/tiny-128-1/weights/final"
    )
  ),
  model: Flag.String("model").pipe(
    Flag.withDescription("The model that the adapter was trained on: a name, a folder or a GGUF file")
  ),
  out: Flag.String("out").pipe(
    Flag.withMetavar("folder"),
    Flag.withDescription("Folder to write, which must not exist")
  )
}

export const merge = Command.make("merge", flags, ({ adapter, model, out }) =>
  Effect.gen(function*() {
    yield* Merge.write({ model, adapter, target: out })
    yield* Console.log(`written: ${out}`)
  }))
