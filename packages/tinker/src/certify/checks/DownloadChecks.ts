/** Partial downloads: the parts must add up to the whole file, wherever they begin and end. */
import * as Effect from "effect/Effect"
import * as Answer from "../../client/Answer.ts"
import { RestClient } from "../../client/RestClient.ts"
import * as ArchiveFiles from "../ArchiveFiles.ts"
import * as Check from "../Check.ts"
import * as NumberedModel from "../NumberedModel.ts"
import { RawRequests } from "../RawRequests.ts"

/** Range headers for parts of a file with `length` bytes, each with the part's first position and the position after its last byte. */
const partsOf = (length: number) => {
  const middle = Math.floor(length / 2)
  const all: ReadonlyArray<readonly [header: string, from: number, to: number]> = [
    ["bytes=0-0", 0, 1],
    ["bytes=0-1", 0, 2],
    ["bytes=0-511", 0, 512],
    ["bytes=1-512", 1, 513],
    ["bytes=511-513", 511, 514],
    [`bytes=0-${middle - 1}`, 0, middle],
    [`bytes=${middle}-${length - 1}`, middle, length],
    [`bytes=${middle}-`, middle, length],
    [`bytes=1-${length - 2}`, 1, length - 1],
    [`bytes=${length - 1}-${length - 1}`, length - 1, length],
    [`bytes=${length - 1}-`, length - 1, length],
    [`bytes=${length - 2}-${length + 1000}`, length - 2, length],
    ["bytes=-1", length - 1, length],
    ["bytes=-100", length - 100, length]
  ]
  return all.filter(([, from, to]) => from >= 0 && to <= length && to - from < length)
}

const isSame = (found: Uint8Array, expected: Uint8Array) =>
  found.length === expected.length && found.every((byte, at) => byte === expected[at])

/** Fails unless a download's entity tag, if any, identifies its bytes, so ranges are served only for matching content. */
const expectTag = Effect.fnUntraced(function*(what: string, url: string, { bytes, headers }: Answer.Answer) {
  const { download } = yield* RawRequests
  const { etag } = headers
  if (etag === undefined || etag.startsWith("W/")) return
  const range = "bytes=1-100"
  const part = yield* download(url, { range, "if-range": etag })
  yield* Check.expect(
    part.status === 206 && isSame(part.bytes, bytes.subarray(1, 101)),
    `the part ${range} of ${what} for the ETag of an earlier download`,
    `HTTP ${part.status}, ${part.bytes.length} bytes`
  )
  const foreign = yield* download(url, { range, "if-range": "\"certify\"" })
  yield* Check.expect(
    foreign.status === 200 && isSame(foreign.bytes, bytes),
    `all of ${what} for the ETag of something else`,
    `HTTP ${foreign.status}, ${foreign.bytes.length} bytes`
  )
})

/** Fails unless every range of a download equals that part of the whole download. Returns the whole download. */
const expectParts = Effect.fnUntraced(function*(what: string, url: string) {
  const { download } = yield* RawRequests
  const whole = yield* download(url)
  const { length } = whole.bytes
  const told = whole.headers["content-length"]
  yield* Check.expect(told === undefined || Number(told) === length, `${told} bytes of ${what}`, length)
  const again = yield* download(url)
  yield* Check.expect(isSame(again.bytes, whole.bytes), `the same bytes of ${what} again`, "others")
  const [first] = partsOf(length)
  const probe = yield* download(url, { range: first?.[0] ?? "" })
  if (probe.status !== 206) return yield* Check.absent(`${what} is not available in ranges`)
  yield* expectTag(what, url, whole)
  for (const [range, from, to] of partsOf(length)) {
    const { bytes, headers, status } = yield* download(url, { range })
    const shown = `HTTP ${status}, ${bytes.length} bytes, ${headers["content-range"]}`
    yield* Check.expect(
      status === 206 && isSame(bytes, whole.bytes.subarray(from, to)),
      `bytes ${from} to ${to - 1} of ${length} of ${what} at ${range}`,
      shown
    )
    const said = headers["content-range"]
    yield* Check.expect(
      said === `bytes ${from}-${to - 1}/${length}` || said === `bytes ${from}-${to - 1}/*`,
      `content-range bytes ${from}-${to - 1}/${length} of ${what}`,
      said
    )
  }
  return whole
})

/** The download address of a checkpoint's archive. The check is absent if checkpoints have no files. */
const linkTo = Effect.fnUntraced(function*(path: string) {
  const rest = yield* RestClient
  const { url } = yield* Effect.catch(rest.getCheckpointArchiveUrl(path), ({ message }) => Check.absent(message))
  return url
})

export const parts: Check.Check = {
  theme: "archive",
  name: "every range of a download equals the same bytes of the whole file",
  why: "Interrupted downloads continue with ranges, and one lost byte corrupts the file.",
  run: Effect.gen(function*() {
    const model = yield* NumberedModel.make
    yield* model.learn()
    const save = { path: "certify-parts", kind: "snapshot", type: "save_weights_for_sampler" }
    const path = String((yield* model.ask("/save_weights_for_sampler", save)).body["path"])
    yield* expectParts("an archive", yield* linkTo(path))
    const state = yield* model.ask("/save_weights", { path: "certify-parts", overwrite: false, type: "save_weights" })
    const whole = yield* expectParts(
      "a state's archive",
      yield* linkTo(String(state.body["path"]))
    )
    const names = ArchiveFiles.filesOf(whole.bytes).map(([name]) => name)
    yield* Check.expect(names.length > 0 && new Set(names).size === names.length, "files, each once", names.join(", "))
  })
}

export const files: Check.Check = {
  theme: "archive",
  name: "exported files download whole and in ranges, and the JSON files can be parsed",
  why: "Users export weights this way. A truncated file loads as random numbers or not at all.",
  run: Effect.gen(function*() {
    const rest = yield* RestClient
    const model = yield* NumberedModel.make
    const promise = yield* model.send("/save_weights_external", {
      path: "certify-files",
      type: "save_weights_external"
    })
    const { result } = yield* RawRequests
    const { body } = yield* result(promise)
    if (typeof body["path"] !== "string") {
      return yield* Check.absent("the server does not export weights for other programs")
    }
    const { urls } = yield* rest.getExternalWeightsUrls(body["path"])
    for (const [name, url] of Object.entries(urls)) {
      const whole = yield* expectParts(name, url)
      const text = Answer.textOf(whole).trimEnd()
      if (name.endsWith(".json")) {
        yield* Check.expect(text.startsWith("{") && text.endsWith("}"), `JSON in ${name}`, text.slice(-40))
      }
    }
    yield* rest.deleteCheckpoint(body["path"])
  })
}

export const all = [parts, files]
