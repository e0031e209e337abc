/** Compresses request bodies, where the platform can. */
import * as Effect from "effect/Effect"

/** Node's own module, asked for in a way that a bundler for browsers does not look into; undefined elsewhere. */
const zlib = Effect.sync(() => typeof process === "undefined" ? undefined : process.getBuiltinModule("node:zlib"))

/** One zstd frame; undefined outside of Node. */
export const compress = (bytes: Uint8Array): Effect.Effect<Uint8Array | undefined> =>
  Effect.flatMap(zlib, (zlib) =>
    zlib === undefined
      ? Effect.undefined
      : Effect.callback((resume) =>
        zlib.zstdCompress(bytes, (error, frame) => resume(Effect.succeed(error === null ? frame : undefined)))
      ))
