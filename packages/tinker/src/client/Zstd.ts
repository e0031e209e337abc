/** Compresses request bodies, where the platform can. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

/** One zstd frame, or nothing outside of Node. */
export const compress = (bytes: Uint8Array): Effect.Effect<Uint8Array | undefined> =>
  Effect.tryPromise(() => import("node:zlib")).pipe(
    Effect.flatMap(({ zstdCompress }) =>
      Effect.callback<Uint8Array | undefined>((resume) =>
        zstdCompress(bytes, (error, frame) => resume(Effect.succeed(error === null ? frame : undefined)))
      )
    ),
    Effect.result,
    Effect.map(Result.getOrUndefined)
  )
