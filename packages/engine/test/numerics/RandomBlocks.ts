/** Random weights in each GGUF type. */
import * as TensorType from "@effect-rl/engine/numerics/TensorType"
import { uniform } from "../TinyModel.ts"

/** The offsets of a block's half-precision scales. */
const scales: Readonly<Record<TensorType.TensorType, ReadonlyArray<number>>> = {
  F32: [],
  F16: [],
  BF16: [],
  Q4_0: [0],
  Q4_1: [0, 2],
  Q8_0: [0],
  Q4_K: [0, 2],
  Q6_K: [208]
}

/** The smallest scale as a half. Blocks of 256 multiply it by additional scales. */
const least: Readonly<Partial<Record<TensorType.TensorType, number>>> = { Q4_K: 0x1400, Q6_K: 0x0c00 }

/** Random blocks of `count` values of both signs, most of them with a magnitude below 1. */
export const make = (type: TensorType.TensorType, count: number, seed: number): Uint8Array => {
  const next = uniform(seed)
  if (type === "F32") return new Uint8Array(Float32Array.from({ length: count }, () => 2 * next() - 1).buffer)
  const bytes = Uint8Array.from({ length: TensorType.bytesOf(type, count) }, () => Math.floor(next() * 256))
  const view = new DataView(bytes.buffer)
  const sign = () => next() < 0.5 ? 0 : 0x8000
  const smallHalf = (place: number) =>
    view.setUint16(place, sign() | ((least[type] ?? 0x2400) + Math.floor(next() * 0x800)), true)
  const smallBf16 = (place: number) => view.setUint16(place, sign() | (0x3d00 + Math.floor(next() * 0x100)), true)
  const block = TensorType.bytesOf(type, TensorType.blockValues(type))
  for (let start = 0; start < bytes.length; start += block) {
    if (type === "F16") smallHalf(start)
    else if (type === "BF16") smallBf16(start)
    else for (const place of scales[type]) smallHalf(start + place)
  }
  return bytes
}
