/**
 * Our client against any Tinker server, above all one that is not ours:
 *
 *     npx node --conditions=@effect-rl/source scripts/conformance/client/main.ts <base URL> [<kind of server> [<model>]]
 *
 * Then the contract of the port, case by case. What a server cannot do must be refused by name; ends with 1 where not.
 */
import { Tinker } from "@effect-rl/core"
import { Contract } from "@effect-rl/core/testing"
import { TinkerHttp } from "@effect-rl/tinker"
import { Console, Effect, Logger, Redacted, Schema } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Check from "./Check.ts"
import { checks } from "./Checks.ts"

const Server = Schema.optional(Schema.Literals(["hosted", "effect-rl", "skyrl", "skyrl-jax", "skyrl-train", "other"]))

const [, , baseUrl = "http://127.0.0.1:8000", kind, chosen] = process.argv
const server = Schema.decodeUnknownSync(Server)(kind)

const backend = TinkerHttp.layerOptions({
  baseUrl,
  apiKey: Redacted.make(process.env["TINKER_API_KEY"] ?? "tml-local"),
  ...(server === undefined ? {} : { server })
})

const report = (all: ReadonlyArray<Check.Check>) =>
  Effect.forEach(
    all,
    (one) =>
      Effect.tap(
        Check.outcome(one),
        ({ name, outcome }) => Console.log(`| ${name} | ${outcome.replaceAll("|", "¦")} |`)
      )
  )

const program = Effect.gen(function*() {
  const model = chosen ?? (yield* Tinker.Tinker.use(({ models }) => models))[0] ?? ""
  yield* Console.log(
    `\n${model} at ${baseUrl}, ${new Date().toISOString().slice(0, 10)}\n\n| check | outcome |\n| --- | --- |`
  )
  const own = yield* report(checks(model))
  yield* Console.log("\n| rule of the port | outcome |\n| --- | --- |")
  const rules = yield* report(
    Contract.contract({ baseModel: model }).map(({ check, name }) =>
      Check.check(name, Effect.mapError(check, ({ message }) => new Check.Mismatch({ detail: message })))
    )
  )
  for (const [what, all] of [["checks", own], ["rules", rules]] as const) {
    const failed = all.filter(({ isFailed }) => isFailed).length
    yield* Console.log(`\n${what}: ${all.length - failed} passed, ${failed} failed`)
    if (failed > 0) process.exitCode = 1
  }
})

/** Warnings are not rows of the table. */
const asides = Logger.layer([Logger.withConsoleError(Logger.formatSimple)])

await Effect.runPromise(
  program.pipe(Effect.provide(backend), Effect.provide(FetchHttpClient.layer), Effect.provide(asides))
)
