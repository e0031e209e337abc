/** The compilation of the kernels that all threads of all engines of a process share. */
import * as KernelCheck from "../model/KernelCheck.ts"
import * as Kernels from "../numerics/Kernels.ts"
import * as WideVectors from "../numerics/WideVectors.ts"

export interface KernelModule {
  readonly module: Kernels.Module
  /** Width of the vectors that V8 was asked to compute with. */
  readonly vectorBits: 128 | 256
}

let compiled: KernelModule | undefined
let checked: KernelModule | undefined

const plain = (): KernelModule => {
  compiled ??= { module: Kernels.compile(), vectorBits: 128 }
  return compiled
}

/** Wide kernels are compared with plain ones once per process, before anything else is computed with them. */
const wide = (): KernelModule => {
  const module = WideVectors.compile()
  const fallback = plain()
  return module !== undefined && KernelCheck.agree(module, fallback.module) ? { module, vectorBits: 256 } : fallback
}

/** With 256-bit vectors where they are wanted, V8 has them and they give the same results; else with 128-bit ones. */
export const compile = (wantsWide: boolean): KernelModule => {
  if (!wantsWide) return plain()
  checked ??= wide()
  return checked
}
