/** Compresses request bodies on platforms that can. */
import * as Effect from "effect/Effect"

/** Node's zlib module, loaded so that bundlers for browsers do not resolve it; undefined on other platforms. */
const zlib = Effect.sync(() => typeof process === "undefined" ? undefined : process.getBuiltinModule("node:zlib"))

/** Compresses to one zstd frame; undefined outside Node or if the compression fails. */
export const compress = (bytes: Uint8Array): Effect.Effect<Uint8Array | undefined> =>
  Effect.flatMap(zlib, (zlib) =>
    zlib === undefined
      ? Effect.undefined
      : Effect.callback((resume) =>
        zlib.zstdCompress(bytes, (error, frame) => resume(Effect.succeed(error === null ? frame : undefined)))
      ))
