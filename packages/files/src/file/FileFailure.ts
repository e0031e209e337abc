/** File failures in words that say what to do. */
import type { PlatformError } from "effect/PlatformError"
import * as Schema from "effect/Schema"

const isDiskFull = Schema.is(Schema.Struct({ code: Schema.Literals(["ENOSPC", "EDQUOT"]) }))

/** What happened to the file and, where it is known, how to get on. */
export const describe = (file: string, error: PlatformError): string => {
  if (isDiskFull(error.reason.cause)) return `no space left to write ${file}: free some disk space and start again`
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
