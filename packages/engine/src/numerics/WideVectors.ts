/**
 * Kernels in which V8 joins pairs of 128-bit vector operations to 256-bit ones, an experimental part of its optimizing
 * compiler. Each lane computes the same operations in the same order, so results are the same to the bit.
 */
import * as v8 from "node:v8"
import * as Kernels from "./Kernels.ts"

/** A boolean flag of V8 that compiling needs, and its default. */
interface Flag {
  readonly name: string
  readonly wanted: boolean
  readonly usual: boolean
}

/** All functions are compiled by the optimizing compiler at once, while the first flag is set. */
const flags: ReadonlyArray<Flag> = [
  { name: "experimental-wasm-revectorize", wanted: true, usual: false },
  { name: "liftoff", wanted: false, usual: true },
  { name: "wasm-lazy-compilation", wanted: false, usual: true },
  { name: "wasm-dynamic-tiering", wanted: false, usual: true }
]

/** The value that the process was started with. */
const givenValue = ({ name, usual }: Flag): boolean => {
  const options = [...(process.env["NODE_OPTIONS"] ?? "").split(/\s+/), ...process.execArgv]
  const values = options.flatMap((option) => {
    const plain = option.replaceAll("_", "-")
    if (plain === `--${name}`) return [true]
    return plain === `--no-${name}` || plain === `--no${name}` ? [false] : []
  })
  return values.at(-1) ?? usual
}

const set = ({ name }: Flag, value: boolean) => v8.setFlagsFromString(value ? `--${name}` : `--no-${name}`)

/** The first V8 that has the flag, and the only architecture that it does anything for. */
const isSupported = () => process.arch === "x64" && Number.parseInt(process.versions.v8, 10) >= 12

/**
 * Compiles the kernels while V8's flags are set and sets them back before it returns, so that no other module of the
 * process is compiled differently. Undefined where V8 cannot.
 */
export const compile = (): Kernels.Module | undefined => {
  if (!isSupported()) return undefined
  const before = flags.map((flag) => [flag, givenValue(flag)] as const)
  for (const flag of flags) set(flag, flag.wanted)
  try {
    return Kernels.compile(Kernels.wide)
  } catch {
    return undefined
  } finally {
    for (const [flag, value] of before) set(flag, value)
  }
}
