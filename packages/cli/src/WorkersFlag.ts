/** `--workers`: the number of compute threads of the embedded engine. */
import * as Flag from "effect/cli/Flag"
import type * as Option from "effect/Option"
import * as GivenFlag from "./GivenFlag.ts"

export const flag = Flag.Int("workers").pipe(
  Flag.filter((workers) => workers >= 0, () => "a whole number from 0"),
  Flag.withMetavar("number"),
  Flag.withDescription(
    "Compute threads of the engine; 0 computes on the main thread (default: one per processor, 16 at most, as far as memory allows)"
  ),
  Flag.optional
)

/** Converts the flag to an option of the engine. */
export const option = (workers: Option.Option<number>): { readonly workers?: number } =>
  GivenFlag.options(workers, (workers) => ({ workers }))
