/** Measures the heap in use after garbage collection. */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

setFlagsFromString("--expose-gc")
const collect: () => void = runInNewContext("gc")

const mebibyte = 2 ** 20

/** In MiB. */
export const used = (): number => {
  collect()
  return process.memoryUsage().heapUsed / mebibyte
}

export interface Sample {
  readonly minute: number
  readonly mebibytes: number
}

/** The heap growth in MiB per minute, by least squares. */
export const growth = (samples: ReadonlyArray<Sample>): number => {
  const mean = (of: (sample: Sample) => number) => samples.reduce((sum, one) => sum + of(one), 0) / samples.length
  const [minute, mebibytes] = [mean((one) => one.minute), mean((one) => one.mebibytes)]
  const covariance = mean((one) => (one.minute - minute) * (one.mebibytes - mebibytes))
  return covariance / mean((one) => (one.minute - minute) ** 2)
}
