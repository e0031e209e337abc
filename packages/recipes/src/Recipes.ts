/** The recipes by name. */
import { arithmetic } from "./arithmetic/Arithmetic.ts"
import { plainArithmetic } from "./arithmetic/PlainArithmetic.ts"
import { gsm8k } from "./gsm8k/Gsm8k.ts"
import { abstractions } from "./tutorial/Abstractions.ts"

export { abstractions, arithmetic, gsm8k, plainArithmetic }
