/** The download address of a checkpoint's files as one tar archive. */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import { ArchiveUrl } from "../wire/Administration.ts"
import * as Answer from "./Answer.ts"
import type { CheckpointPath } from "./CheckpointPath.ts"
import type * as Connection from "./Connection.ts"
import * as RetryPolicy from "./RetryPolicy.ts"
import type * as WireError from "./WireError.ts"

export interface Link {
  readonly url: string
  readonly expires: DateTime.Utc
}

const usual = { minutes: 15 }

const readLink = Answer.reading(ArchiveUrl)

const linkOf = Effect.fnUntraced(function*(answer: Answer.Answer): Effect.fn.Return<Link, WireError.WireError> {
  const latest = DateTime.add(yield* DateTime.now, usual)
  const location = Answer.locationOf(answer)
  if (location !== undefined) {
    const said = DateTime.make(answer.headers["expires"] ?? "")
    return { url: location, expires: said._tag === "Some" ? DateTime.toUtc(said.value) : latest }
  }
  if (answer.status >= 300) return yield* yield* Answer.refusal(answer)
  const { expires: until, url } = yield* readLink(answer)
  return { url, expires: until ?? latest }
})

/** The archive's download address. Waits up to three minutes while the service is creating the archive. */
export const link = (connection: Connection.Connection, { archiveId, run }: CheckpointPath) => {
  const request = HttpClientRequest.get(`/training_runs/${run}/checkpoints/${archiveId}/archive`)
  const ready = connection.exchange(request).pipe(
    Effect.flatMap(linkOf),
    Effect.retry(RetryPolicy.observed(RetryPolicy.archive, "archive", connection.options.observe))
  )
  return connection.persist(RetryPolicy.control, "archive", ready)
}
