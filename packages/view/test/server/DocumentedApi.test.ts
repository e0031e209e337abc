import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import * as Recorded from "../Recorded.ts"
import * as Served from "./Served.ts"

const page = readFileSync(new URL("../../../../docs/viewing.md", import.meta.url), "utf8")

const source = readFileSync(new URL("../../src/server/ViewServer.ts", import.meta.url), "utf8")

const documented = [...page.matchAll(/^\| `GET (\/api\/\w+)(?:\?([^`]*))?`/gm)].map(([, path = "", fields = ""]) => ({
  path,
  fields: fields.split("&").filter((field) => field !== "")
}))

const served = [...source.matchAll(/get\(\s*"(\/api\/\w+)"/g)].map(([, path]) => path)

describe("the API that docs/viewing.md documents", () => {
  it("lists exactly the server's routes", () => {
    assert.deepStrictEqual(documented.map(({ path }) => path).toSorted(), served.toSorted())
  })

  it.effect("accepts each request with the documented fields", () =>
    Effect.gen(function*() {
      const { run, url } = yield* Served.start
      const values: Readonly<Record<string, string>> = {
        run,
        others: run,
        sequence: String(Recorded.first.mixed),
        text: "five",
        iteration: "0",
        axis: "tokens",
        rule: "max_rl"
      }
      for (const { fields, path } of documented) {
        const query = new URLSearchParams(Object.fromEntries(fields.map((field) => [field, values[field] ?? ""])))
        const { status } = yield* Served.get(`${url}${path}?${query}`, {}, path === "/api/events" ? "data:" : undefined)
        assert.strictEqual(status, 200, path)
      }
    }))
})
