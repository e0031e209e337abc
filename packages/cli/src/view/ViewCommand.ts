/** `effect-rl view`: shows runs in a browser. */
import { Runs } from "@effect-rl/view"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as GivenFlag from "../GivenFlag.ts"
import * as ModelTokenizers from "../ModelTokenizers.ts"
import * as Folders from "./Folders.ts"
import * as OpenedBrowser from "./OpenedBrowser.ts"
import * as PageServer from "./PageServer.ts"

const flags = {
  folders: Argument.String("folder").pipe(
    Argument.withDescription("Run directories, or folders of them (default: runs)"),
    Argument.variadic()
  ),
  host: Flag.String("host").pipe(
    Flag.withMetavar("address"),
    Flag.withDescription(
      "Address to listen on; unless it is the default, browsers need the printed token (default: 127.0.0.1)"
    ),
    Flag.withDefault(PageServer.loopback)
  ),
  port: Flag.Int("port").pipe(
    Flag.filter((port) => port >= 0 && port <= 65_535, () => "a port, from 0 to 65535"),
    Flag.withMetavar("number"),
    Flag.withDescription(
      `Port to listen on; 0 picks a free one (default: ${PageServer.usualPort}, or a free one after it)`
    ),
    Flag.optional
  ),
  open: Flag.Boolean("open").pipe(
    Flag.withDescription("Open the page in a browser"),
    Flag.withDefault(false)
  )
}

export const view = Command.make("view", flags, ({ folders, host, open, port }) =>
  Effect.gen(function*() {
    for (const folder of folders) yield* Folders.checkUnlessEmpty(folder, yield* Runs.find([folder]))
    const shown = folders.length === 0 ? [Folders.usual] : folders
    const address = yield* PageServer.start(shown, {
      host,
      ...GivenFlag.options(port, (port) => ({ port }))
    })
    yield* Console.log(address)
    if (open) yield* OpenedBrowser.open(address)
    return yield* Effect.never
  }).pipe(Effect.scoped, Effect.provide(ModelTokenizers.layer))).pipe(Command.withExamples([
    { command: "effect-rl view", description: "All runs under runs" },
    { command: "effect-rl view runs/arithmetic-0 --port 8080", description: "One run, at a port of your choice" }
  ]))
