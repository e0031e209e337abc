import { Script } from "@effect-rl/core/testing"
import * as Attempt from "@effect-rl/tinker/certify/Attempt"
import * as Checks from "@effect-rl/tinker/certify/Checks"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Schema } from "effect"
import * as Served from "./Served.ts"
import * as Wire from "./Wire.ts"

const Fields = Schema.Struct({
  required: Schema.Array(Schema.String),
  sent: Schema.Array(Schema.String),
  optional: Schema.Array(Schema.String)
})
type Fields = typeof Fields.Type

const Named = Schema.Record(Schema.String, Fields)

/** Written by `npm run conformance` from the types of the official SDK. */
const Sdk = Schema.fromJsonString(Schema.Struct({ sdk: Schema.String, requests: Named, parts: Named }))

const sdk = FileSystem.FileSystem.use((fs) => fs.readFileString(`${import.meta.dirname}/SdkRequests.json`)).pipe(
  Effect.flatMap(Schema.decodeEffect(Sdk)),
  Effect.provide(NodeServices.layer)
)

/** What is wrong with an object by its fields: those that the SDK always sends and are missing, and those that it does not have. */
const problems = (
  where: string,
  value: object,
  { optional, required, sent }: Fields,
  parts: typeof Named.Type
): ReadonlyArray<string> => {
  const always = [...required, ...sent]
  const names = Object.keys(value)
  return [
    ...always.filter((name) => !names.includes(name)).map((name) => `${where} lacks ${name}`),
    ...names.filter((name) => ![...always, ...optional].includes(name)).map((name) => `${where} has ${name}`),
    ...Object.entries(value).flatMap(([name, part]: [string, unknown]) => {
      const fields = parts[name]
      return fields === undefined || typeof part !== "object" || part === null
        ? []
        : problems(`${where} ${name}`, part, fields, parts)
    })
  ]
}

/** The check whose request is wrong on purpose. */
const wrongOnPurpose = "a request without a field that it needs is the client's fault"

/** Checks of these themes write requests themselves. */
const themes = ["service", "sessions", "models", "order", "repeats", "futures", "errors", "limits", "archive"]

const own = [
  "a state is not replaced by another of its name without overwrite",
  "elementwise_loss of ppo is its formula for each token",
  "a stop string needs no list"
]

describe("the requests of a certificate", () => {
  it.live("have every field that the official SDK sends, and no other", () =>
    Effect.gen(function*() {
      const { parts, requests } = yield* sdk
      const found = new Set<string>()
      const seen = new Set<string>()
      const record = Wire.heard((path, body) => {
        const fields = requests[path]
        if (fields === undefined) return
        seen.add(path)
        for (const problem of problems(path, body, fields, parts)) found.add(problem)
      })
      const checks = Checks.all({ baseModel: Script.defaultModel }).filter(({ name, theme }) =>
        own.includes(name) || (themes.includes(theme) && name !== wrongOnPurpose)
      )
      yield* Effect.provide(
        Effect.forEach(checks, Attempt.outcome, { discard: true }),
        Served.layer({ rawWire: record })
      )
      assert.deepStrictEqual([...found], [])
      assert.deepStrictEqual([...seen].toSorted(), Object.keys(requests).toSorted())
    }))
})
