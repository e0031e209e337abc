/** Error messages for file system failures, with advice. */
import * as Option from "effect/Option"
import type { PlatformError } from "effect/PlatformError"
import * as Schema from "effect/Schema"

const codeOf = Schema.decodeUnknownOption(Schema.Struct({ code: Schema.String }))

/** The message for an error code of the operating system; undefined for a code without a message of its own. */
const byCode = (file: string, code: string): string | undefined => {
  switch (code) {
    case "ENOSPC":
    case "EDQUOT":
      return `no space left to write ${file}: free some disk space and start again`
    case "EFBIG":
      return `${file} is as large as a file may be here: raise the limit (ulimit -f) or choose another place`
    case "EROFS":
      return `${file} is on a read-only file system: choose another place`
    case "ENAMETOOLONG":
      return `the name of ${file} is too long: choose a shorter one`
    default:
      return undefined
  }
}

const byReason = (file: string, error: PlatformError): string => {
  switch (error.reason._tag) {
    case "NotFound":
      return `${file} does not exist`
    case "AlreadyExists":
      return `${file} is in the way: remove it or choose another place`
    case "PermissionDenied":
      return `no permission to use ${file}: change its permissions or choose another place`
    default:
      return `cannot use ${file}: ${error.message}`
  }
}

/**
 * A message that describes the failure and, if possible, how to fix it. `file` is the file's name in the message.
 *
 * @example
 * const text = FileSystem.FileSystem.use((fs) => fs.readFileString("model.json")).pipe(
 *   Effect.mapError((error) => FileFailure.describe("model.json", error))
 * )
 */
export const describe = (file: string, error: PlatformError): string => {
  const cause = codeOf(error.reason.cause)
  const advice = Option.isSome(cause) ? byCode(file, cause.value.code) : undefined
  return advice ?? byReason(file, error)
}
