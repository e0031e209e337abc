import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { request } from "node:http"
import { gunzipSync, zstdDecompressSync } from "node:zlib"
import * as Served from "./Served.ts"

interface Answer {
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, unknown>>
  readonly bytes: Buffer
}

const get = (url: string, headers: Readonly<Record<string, string>>) =>
  Effect.callback<Answer>((resume) => {
    request(url, { agent: false, headers: { ...headers } }, (response) => {
      const parts: Array<Buffer> = []
      response.on("data", (part: Buffer) => parts.push(part)).on("end", () =>
        resume(Effect.succeed({ status: response.statusCode, headers: response.headers, bytes: Buffer.concat(parts) })))
    }).end()
  })

const accept = (encodings: string) => ({ "accept-encoding": encodings })

const recordsOf = ({ run, url }: Served.Served) => `${url}/api/records?run=${encodeURIComponent(run)}`

describe("the server's responses", () => {
  it.effect("are compressed with an encoding that the browser accepts, without loss", () =>
    Effect.gen(function*() {
      const records = recordsOf(yield* Served.start)
      const plain = yield* get(records, accept("identity"))
      assert.notProperty(plain.headers, "content-encoding")
      const zipped = yield* get(records, accept("gzip, deflate"))
      assert.strictEqual(zipped.headers["content-encoding"], "gzip")
      assert.strictEqual(Number(zipped.headers["content-length"]), zipped.bytes.length)
      assert.isBelow(zipped.bytes.length, plain.bytes.length / 3)
      assert.deepStrictEqual(gunzipSync(zipped.bytes), plain.bytes)
      const newest = yield* get(records, accept("gzip, deflate, br, zstd"))
      assert.strictEqual(newest.headers["content-encoding"], "zstd")
      assert.deepStrictEqual(zstdDecompressSync(newest.bytes), plain.bytes)
      assert.notProperty((yield* get(records, accept("gzip;q=0"))).headers, "content-encoding")
    }))

  it.effect("are not sent again if they have not changed", () =>
    Effect.gen(function*() {
      const served = yield* Served.start
      for (const url of [recordsOf(served), `${served.url}/assets/page.css`, `${served.url}/`]) {
        const { headers } = yield* get(url, {})
        assert.strictEqual(headers["cache-control"], "private, no-cache")
        const again = yield* get(url, { "if-none-match": String(headers["etag"]) })
        assert.deepInclude(again, { status: 304, bytes: Buffer.alloc(0) })
        assert.strictEqual((yield* get(url, { "if-none-match": "W/\"other\"" })).status, 200)
      }
    }))

  it.effect("are not cached if they are errors or streams", () =>
    Effect.gen(function*() {
      const { url } = yield* Served.start
      const missing = yield* get(`${url}/api/records?run=nothing`, accept("gzip"))
      assert.strictEqual(missing.status, 404)
      assert.strictEqual(missing.headers["cache-control"], "no-store")
    }))
})
