/** The stored types of tensors, with GGML's names and numbers. */

/** The values and bytes of one block. A row consists of whole blocks. */
interface Block {
  /** The type's number in GGUF files and in the kernels. */
  readonly id: number
  readonly values: number
  readonly bytes: number
}

const blocks = {
  F32: { id: 0, values: 1, bytes: 4 },
  F16: { id: 1, values: 1, bytes: 2 },
  Q4_0: { id: 2, values: 32, bytes: 18 },
  Q4_1: { id: 3, values: 32, bytes: 20 },
  Q8_0: { id: 8, values: 32, bytes: 34 },
  Q4_K: { id: 12, values: 256, bytes: 144 },
  Q6_K: { id: 14, values: 256, bytes: 210 },
  BF16: { id: 30, values: 1, bytes: 2 }
} as const satisfies Readonly<Record<string, Block>>

export type TensorType = keyof typeof blocks

const isTensorType = (name: string): name is TensorType => Object.hasOwn(blocks, name)

export const names: ReadonlyArray<TensorType> = Object.keys(blocks).filter(isTensorType)

export const idOf = (type: TensorType): number => blocks[type].id

export const ofId = (id: number): TensorType | undefined => names.find((name) => blocks[name].id === id)

/** The number of values per block. Row lengths must be multiples of this number. */
export const blockValues = (type: TensorType): number => blocks[type].values

/** The bytes of `count` values, which must fill whole blocks. */
export const bytesOf = (type: TensorType, count: number): number => count / blocks[type].values * blocks[type].bytes
