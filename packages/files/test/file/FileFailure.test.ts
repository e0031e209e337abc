import * as FileFailure from "@effect-rl/files/file/FileFailure"
import { assert, describe, it } from "@effect/vitest"
import { PlatformError } from "effect"

/** As Node's file system fails. */
const failing = (code: string) =>
  PlatformError.systemError({
    _tag: "Unknown",
    module: "FileSystem",
    method: "writeFile",
    cause: Object.assign(new Error(code), { code })
  })

describe("a failure of the file system", () => {
  it.each([
    ["ENOSPC", "no space left to write out: free some disk space and start again"],
    ["EFBIG", "out is as large as a file may be here: raise the limit (ulimit -f) or choose another place"],
    ["EROFS", "out is on a read-only file system: choose another place"],
    ["ENAMETOOLONG", "the name of out is too long: choose a shorter one"]
  ])("%s is told in words, with what to do", (code, message) => {
    assert.strictEqual(FileFailure.describe("out", failing(code)), message)
  })
})
