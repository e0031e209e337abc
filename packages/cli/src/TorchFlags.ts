/** `--python`, `--device` and `--dtype`: the interpreter, the device and the number format of `--backend torch`. */
import type { TorchBackend } from "@effect-rl/torch"
import * as Flag from "effect/cli/Flag"
import type * as Option from "effect/Option"
import * as GivenFlag from "./GivenFlag.ts"

/** The flags' names, for sections of the help. */
export const names = ["python", "device", "dtype"] as const

export const flags = {
  python: Flag.String("python").pipe(
    Flag.withMetavar("program"),
    Flag.withDescription(
      "Python with torch, transformers, peft and safetensors for --backend torch (default: python3)"
    ),
    Flag.optional
  ),
  device: Flag.String("device").pipe(
    Flag.withMetavar("device"),
    Flag.withDescription("Device of --backend torch in torch's words, such as cuda:1 or cpu (default: cuda)"),
    Flag.optional
  ),
  dtype: Flag.Literals("dtype", ["bfloat16", "float16", "float32"]).pipe(
    Flag.withDescription("Precision of the model's weights for --backend torch (default: bfloat16)"),
    Flag.optional
  )
}

/** The flags' values. */
export interface Given {
  readonly python: Option.Option<string>
  readonly device: Option.Option<string>
  readonly dtype: Option.Option<TorchBackend.Dtype>
}

/** Converts the flags to options of the backend. */
export const options = ({ device, dtype, python }: Given): Pick<TorchBackend.Options, keyof Given> => ({
  ...GivenFlag.options(python, (python) => ({ python })),
  ...GivenFlag.options(device, (device) => ({ device })),
  ...GivenFlag.options(dtype, (dtype) => ({ dtype }))
})
