import * as FileFailure from "@effect-rl/files/file/FileFailure"
import { assert, describe, it } from "@effect/vitest"
import { PlatformError } from "effect"

/** An error like those of Node's file system. */
const failing = (code: string) =>
  PlatformError.systemError({
    _tag: "Unknown",
    module: "FileSystem",
    method: "writeFile",
    cause: Object.assign(new Error(code), { code })
  })

describe("a file system failure", () => {
  it.each([
    ["ENOSPC", "no space left to write out: free some disk space and start again"],
    ["EFBIG", "out is as large as a file may be here: raise the limit (ulimit -f) or choose another place"],
    ["EROFS", "out is on a read-only file system: choose another place"],
    ["ENAMETOOLONG", "the name of out is too long: choose a shorter one"]
  ])("with code %s is explained with advice", (code, message) => {
    assert.strictEqual(FileFailure.describe("out", failing(code)), message)
  })
})
