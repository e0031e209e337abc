import type { RestClient } from "@effect-rl/tinker"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Stream } from "effect"
import { asking, path, resource } from "./Asking.ts"
import * as FakeService from "./FakeService.ts"

const archive = Uint8Array.from({ length: 1000 }, (_, index) => index % 251)

/** Serves the bytes from the requested offset, and breaks off after at most `most`. */
const serving = (most: number, ranges: boolean): FakeService.Routes => ({
  [`${resource}/archive`]: () => new Response(null, { status: 302, headers: { location: "http://files/archive" } }),
  "/archive": (_, { headers }) => {
    const asked = Number(/^bytes=(\d+)-$/.exec(headers["range"] ?? "")?.[1] ?? 0)
    const start = ranges ? asked : 0
    const body = new ReadableStream({
      start: (controller) => {
        controller.enqueue(archive.slice(start, start + most + (ranges ? 0 : asked)))
        controller.close()
      }
    })
    return start === 0
      ? new Response(body, { headers: { "content-length": String(archive.length), etag: "\"one\"" } })
      : new Response(body, {
        status: 206,
        headers: { "content-range": `bytes ${start}-${archive.length - 1}/${archive.length}` }
      })
  }
})

const bytesOf = (rest: RestClient.RestClient["Service"]) =>
  Effect.map(
    Stream.runCollect(rest.downloadCheckpoint(path)),
    (chunks) => Uint8Array.from(Array.from(chunks).flatMap((bytes) => Array.from(bytes)))
  )

describe("a download", () => {
  it.effect("continues where the connection broke", () =>
    Effect.gen(function*() {
      const { answer, asked } = yield* asking(serving(300, true), bytesOf)
      assert.deepStrictEqual(answer, archive)
      const ranges = asked.filter(({ path }) => path === "/archive").map(({ headers }) => headers["range"])
      assert.deepStrictEqual(ranges, [undefined, "bytes=300-", "bytes=600-", "bytes=900-"])
    }))

  it.effect("skips the bytes that it already has if the server restarts from the beginning", () =>
    Effect.gen(function*() {
      const { answer } = yield* asking(serving(400, false), bytesOf)
      assert.deepStrictEqual(answer, archive)
    }))

  it.effect("sends no key to other servers", () =>
    Effect.gen(function*() {
      const { asked } = yield* asking(serving(1000, true), bytesOf)
      const keys = asked.map(({ headers, path }) => [path, headers["x-api-key"]])
      assert.deepStrictEqual(keys, [[`${resource}/archive`, "tml-secret"], ["/archive", undefined]])
    }))

  it.effect("sends no key to the target of a redirect", () =>
    Effect.gen(function*() {
      const own = "http://fake/prefix/api/v1/own"
      const { answer, asked } = yield* asking({
        ...serving(1000, true),
        [`${resource}/archive`]: () => new Response(null, { status: 302, headers: { location: own } }),
        "/own": () => new Response(null, { status: 302, headers: { location: "http://files/archive" } })
      }, bytesOf)
      assert.deepStrictEqual(answer, archive)
      assert.deepStrictEqual(asked.slice(-2).map(({ headers, path }) => [path, headers["x-api-key"]]), [
        ["/own", "tml-secret"],
        ["/archive", undefined]
      ])
    }))

  it.effect("of an external weights file continues where its connection broke", () =>
    Effect.gen(function*() {
      const links = `${resource}/external_weights_urls`
      const urls = { "adapter.safetensors": "http://files/archive" }
      const { answer, asked } = yield* asking(
        { ...serving(600, true), [links]: () => FakeService.json({ urls, expires: "2026-01-02T03:04:05Z" }) },
        (rest) => Stream.runCollect(rest.downloadExternalFile(path, "adapter.safetensors"))
      )
      assert.deepStrictEqual(Uint8Array.from(Array.from(answer).flatMap((bytes) => Array.from(bytes))), archive)
      assert.deepStrictEqual(asked.map(({ path }) => path), [links, "/archive", links, "/archive"])
    }))

  it.effect("requests a new link after the old one has expired", () =>
    Effect.gen(function*() {
      const expired: FakeService.Faults = (path, index) =>
        path === "/archive" && index === 1 ? { status: 403 } : undefined
      const { answer, asked } = yield* asking(serving(500, true), bytesOf, expired)
      assert.deepStrictEqual(answer, archive)
      assert.strictEqual(asked.filter(({ path }) => path === `${resource}/archive`).length, 3)
    }))

  it.effect("waits while the archive is being created, six times for half a minute", () =>
    Effect.gen(function*() {
      const making = (times: number, status: number): FakeService.Faults => (path, index) =>
        path === `${resource}/archive` && index < times ? { status } : undefined
      const { answer, asked } = yield* asking(serving(1000, true), (rest) =>
        rest.getCheckpointArchiveUrl(path), making(6, 409))
      assert.strictEqual(answer.url, "http://files/archive")
      assert.deepStrictEqual(
        asked.map(({ at }) =>
          at / 1000
        ),
        [0, 30, 60, 90, 120, 150, 180]
      )
      const never = yield* asking(serving(1000, true), (rest) =>
        Effect.flip(rest.getCheckpointArchiveUrl(path)), making(99, 409))
      assert.strictEqual(never.answer.reason._tag, "Rejected")
    }))

  it.effect("ends in a typed failure if no data ever arrives", () =>
    Effect.gen(function*() {
      const { answer } = yield* asking(serving(0, true), (rest) => Effect.flip(bytesOf(rest)))
      assert.strictEqual(answer.reason._tag, "Unavailable")
      assert.isTrue(Option.isSome(Option.fromUndefinedOr(answer.cause)))
    }))
})
