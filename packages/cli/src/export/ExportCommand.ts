/** `effect-rl export RUN PLACE`: exports a run as one page, or in another tool's format. */
import { InvalidOption, type RunStore } from "@effect-rl/core"
import { Projection, Sink } from "@effect-rl/export"
import { ExportedPage } from "@effect-rl/view"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as WholeRun from "../checkpoints/WholeRun.ts"
import * as ModelTokenizers from "../ModelTokenizers.ts"
import * as NewFile from "../NewFile.ts"
import * as DamagedGroups from "../rollouts/DamagedGroups.ts"
import * as RunTokenizer from "../rollouts/RunTokenizer.ts"
import * as Formats from "./Formats.ts"

const flags = {
  run: Argument.String("run").pipe(Argument.withDescription("Folder of the run")),
  out: Argument.String("place").pipe(Argument.withDescription("Where to write it: a file, a folder or an address")),
  format: Flag.Literals("format", Formats.names).pipe(
    Flag.withDescription(
      `What to write, and where: ${
        Formats.names.map((name) => `${name}: ${Formats.of(name).does}`).join("; ")
      } (html unless given, for a file that ends in .html)`
    ),
    Flag.optional
  )
}

/** The requested format. Without one, `html` if the file's name ends in `.html`; fails otherwise. */
const formatOf = (format: Option.Option<Formats.Name>, out: string) => {
  if (Option.isSome(format)) return Effect.succeed(format.value)
  if (/\.html?$/i.test(out)) return Effect.succeed<Formats.Name>("html")
  const others = Formats.names.filter((name) => name !== "html").join(", ")
  return Effect.fail(
    new InvalidOption.InvalidOption({
      field: "place",
      found: out,
      expected: `a file that ends in .html, or --format with what to write there: ${others}`
    })
  )
}

const write = Effect.fnUntraced(function*(reader: RunStore.RunReader, name: Formats.Name, out: string) {
  const format = Formats.of(name)
  switch (format._tag) {
    case "Page":
      return yield* Projection.writeText(out, yield* ExportedPage.make(reader.name))
    case "Projection":
      return yield* format.write(reader, out, { language: yield* RunTokenizer.language(reader) })
    case "Sink": {
      const path = yield* Path.Path
      // A sink that appends to a file that exists would write the run twice.
      if (format.appends === true) yield* NewFile.check("place", out)
      return yield* Sink.write(format.make(out, path.basename(path.resolve(reader.name))), reader)
    }
  }
})

export const exportRun = Command.make("export", flags, ({ format, out, run }) =>
  Effect.gen(function*() {
    const reader = yield* WholeRun.open(run)
    yield* write(reader, yield* formatOf(format, out), out)
    yield* Console.log(`written: ${out}`)
  }).pipe(DamagedGroups.failing, Effect.provide([NodeHttpClient.layerUndici, ModelTokenizers.layer]))).pipe(
    Command.withExamples([
      { command: "effect-rl export runs/arithmetic-0 arithmetic.html", description: "The run as one page" },
      {
        command: "effect-rl export runs/arithmetic-0 logs --format inspect",
        description: "Its evaluations as logs of Inspect"
      }
    ])
  )
